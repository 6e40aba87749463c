"""Ids of failures and requests."""

from __future__ import annotations

import random
import re
import subprocess

from tests.doors import new_id
from tests.zygote import PYTHON

FORK = r"""
import os
from tests.doors import new_id

for _ in range(3):
    if os.fork() == 0:
        break
os.write(1, f"{new_id()}\n".encode())
"""


def test_an_id_is_16_hexadecimal_digits_that_no_seed_repeats() -> None:
    ids = []
    for _ in range(1_000):
        random.seed(0)
        ids.append(new_id())
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in ids)


def test_forked_processes_have_ids_of_their_own() -> None:
    ran = subprocess.run([PYTHON, "-c", FORK], check=True, capture_output=True, text=True)
    assert len(set(ran.stdout.split())) == 4
