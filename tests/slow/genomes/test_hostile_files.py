"""Files that are small and become large when they are unpacked are refused before they take the memory of a worker."""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from failsoft.tools.flux import Flux
from tests.doors import FluxSettings, Workers
from tests.programs.flux import IN_FLUX
from tests.tools.flux.lab import Lab, workers_of

pytestmark = IN_FLUX

UNPACKED_BYTES = 240_000_000
MORE_AT_MOST_BYTES = 128_000_000
"""Twice the limit for files, unpacked."""


@pytest.fixture
def alone(flux_python: str) -> Iterator[Workers]:
    """One worker, whose memory is measured."""
    made = Workers(FluxSettings(workers=1))
    yield made
    made.close()


def peak_bytes(workers: Workers) -> int:
    """Return the most memory that the worker ever had."""
    (process_id,) = workers_of(workers)
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process_id}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def test_a_mat_file_that_unpacks_to_more_than_the_limit_is_refused_unread(alone: Workers, tmp_path: Path) -> None:
    import numpy as np  # noqa: PLC0415 - beside COBRApy
    from scipy.io import savemat  # noqa: PLC0415 - the same

    savemat(tmp_path / "large.mat", {"zeros": np.zeros(UNPACKED_BYTES // 8)}, do_compression=True)
    if (tmp_path / "large.mat").stat().st_size > 1_000_000:
        pytest.fail("the file has to be small")
    tool = Flux(root=tmp_path)
    tool.workers = alone
    lab = Lab(alone)
    lab.loaded(tool)
    before = peak_bytes(alone)
    error = lab.call(tool, "load_model", {"path": "large.mat"})
    assert error["error_code"] == "INVALID_INPUT_FILE"
    assert peak_bytes(alone) - before < MORE_AT_MOST_BYTES


def sbml(notes: str) -> bytes:
    """Return an SBML file with these notes."""
    space = "http://www.sbml.org/sbml/level3/version1/core"
    return f'<sbml xmlns="{space}" level="3" version="1"><model id="m"><notes>{notes}</notes></model></sbml>'.encode()


def mat(kind: int, sizes: tuple[int, int], content: bytes) -> bytes:
    """Return a MAT file with one variable of a kind, which says it has these sizes whatever its content is."""
    name = struct.pack("<II", 1, 1) + b"x".ljust(8, b"\0")
    shape = struct.pack("<IIII", 6, 8, kind, 0) + struct.pack("<IIii", 5, 8, *sizes)
    variable = shape + name + content
    header = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"
    return header + struct.pack("<II", 14, len(variable)) + variable


SMALL_BOMBS = {
    "nested.xml": sbml("<p>" * 100_000 + "</p>" * 100_000),  # libSBML would overflow its stack
    "many.xml.gz": gzip.compress(sbml("<p/>" * 2_100_000)),  # and take 700 bytes for each
    "text.mat": mat(4, (1, 2_000_000_000), struct.pack("<II", 16, 0)),  # an empty text of that length
    "cells.mat": mat(1, (1, 2_000_000_000), b""),
    "nested.json": b'{"reactions": ' + b"[" * 100_000,
    "nested.yml": b"reactions: " + b"[" * 100_000,
    "merged.yml": b"a0: &a0 {k: v}\n"
    + b"".join(b"a%d: &a%d {<<: [%s]}\n" % (i, i, b", ".join([b"*a%d" % (i - 1)] * 8)) for i in range(1, 12)),
}


@pytest.mark.parametrize("name", SMALL_BOMBS)
def test_a_file_that_would_end_a_worker_or_fill_its_memory_is_refused_with_the_reason(
    alone: Workers, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(SMALL_BOMBS[name])
    tool = Flux(root=tmp_path)
    tool.workers = alone
    lab = Lab(alone)
    lab.loaded(tool)
    before = peak_bytes(alone)
    error = lab.call(tool, "load_model", {"path": name})
    assert error["error_code"] == "INVALID_INPUT_FILE"
    assert peak_bytes(alone) - before < MORE_AT_MOST_BYTES
