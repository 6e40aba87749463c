"""What a call costs in instructions of the processor: the same on a busy machine as on a quiet one. Needs Valgrind.

The contenders are our own of `call_path.py`, counted in the same yardsticks. Times say more about what a caller feels;
this says what a change has cost.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from call_path import BAD_ARGUMENTS, GOALS, own_contenders
from measure import Figure, benchmark, figure
from sample_tool import ARGUMENTS, Documents

_WARM_UP = 50
_MARK = "getppid"
"""A function of the C library that nothing else calls: Valgrind ends one count, and begins the next, at each call."""


async def contend(times: int) -> None:
    """Run each contender between two marks, and print their names."""
    contenders = own_contenders(Documents())
    for work in contenders.values():
        await work(_WARM_UP)
    gc.collect()
    gc.disable()
    _begin_to_count()
    for work in contenders.values():
        await work(1)  # what was counted before, such as the translation of code that ran first, is in no figure
        os.getppid()
        await work(times)
        os.getppid()
    print(*contenders, sep="\n")


def _begin_to_count() -> None:
    """Have Valgrind count from here on: until then the program runs at a tenth of the cost."""
    command = ["vgdb", f"--pid={os.getpid()}", "instrumentation", "on"]
    switch = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - Valgrind's own command
    while switch.poll() is None:  # Valgrind answers while this program runs, not while it waits
        pass
    if switch.returncode:
        sys.exit("vgdb could not switch the counting on")


def count(times: int) -> dict[str, float]:
    """Return the instructions of one piece of work, by contender."""
    program = f"import asyncio, instructions; asyncio.run(instructions.contend({times}))"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "count"
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", "--vgdb=yes"]
        done = subprocess.run(  # noqa: S603 - our own program
            [*valgrind, f"--dump-before={_MARK}", f"--callgrind-out-file={out}", sys.executable, "-c", program],
            cwd=Path(__file__).parent,
            env={**os.environ, "PYTHONHASHSEED": "0", "TZ": "UTC"},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        dumps = sorted(out.parent.glob("count.*"), key=lambda dump: int(dump.suffix[1:]))
        counts = [int(re.findall(r"(?m)^totals: (\d+)", dump.read_text(errors="replace"))[-1]) for dump in dumps]
    names = done.stdout.splitlines()
    return {name: own / times for name, own in zip(names, counts[1 : 2 * len(names) : 2], strict=True)}


@benchmark("The call path in instructions", rounds=(100, 5))
def measure(given: Any) -> list[Figure]:
    """Return all figures."""
    found = count(given.rounds)
    figures = [figure(name, [found[name] / 1000], "thousand") for name in ("yardstick", "bare")]
    for name in ARGUMENTS:
        over = (found[name] - found["bare"]) / found["yardstick"]
        figures.append(figure(f"over the bare: {name}", [over], "yardsticks", goal=GOALS.get(name, BAD_ARGUMENTS)))
    return figures
