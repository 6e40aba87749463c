"""Run diamond, a protein aligner, as a process that ends with the call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from failsoft.framework.errors import Timeout, UpstreamError
from failsoft.tools.flux.workers.fork_server_process import ending_with_this_process

_COLUMNS = ("qseqid", "sseqid", "pident", "qcovhsp", "scovhsp", "bitscore")


class ProteinHit(NamedTuple):
    """An alignment with a known protein: percent of identity and of both lengths covered, and diamond's score."""

    query: str
    target: str
    identity: float
    query_covered: float
    target_covered: float
    score: float


def search(sequences: Mapping[str, str], database: Path, *, program: str, limit_s: float) -> list[ProteinHit]:
    """Return the best hits of each protein. Proteins and hits go through pipes; nothing is written to the disk.

    Args:
        sequences: Proteins by id.
        database: The known proteins, in diamond's own format.
        program: The path of diamond.
        limit_s: Seconds after which it is killed.

    Raises:
        TIMEOUT: It took longer.
        UPSTREAM_ERROR: It failed.
    """
    ids = list(sequences)
    # Numbers instead of ids, which may contain anything.
    fasta = "".join(f">{index}\n{sequences[name]}\n" for index, name in enumerate(ids))
    command = [
        program,
        "blastp",
        "--db",
        str(database),
        "--top",
        "10",
        "--evalue",
        "1e-10",
        "--threads",
        str(min(2, os.cpu_count() or 1)),
    ]
    # Named, since without --query larger inputs end diamond 2.1 in a segmentation fault.
    command += ["--query", "-", "--quiet", "--outfmt", "6", *_COLUMNS]
    try:
        done = subprocess.run(  # noqa: S603 - a list of our own making, no shell
            command,
            input=fasta.encode(),
            capture_output=True,
            timeout=limit_s,
            check=False,
            preexec_fn=ending_with_this_process(),
        )
    except subprocess.TimeoutExpired as error:
        raise Timeout(message=f"Comparing the proteins took longer than {limit_s:g} seconds.") from error
    except OSError as error:
        raise UpstreamError(message="The program that compares proteins could not be started.") from error
    if done.returncode != 0:
        raise UpstreamError(
            message="The program that compares proteins failed.",
            details={"exit_code": done.returncode, "said": done.stderr.decode(errors="replace")[-300:]},
        )
    return [_hit(line, ids) for line in done.stdout.decode().splitlines()]


def _hit(line: str, ids: list[str]) -> ProteinHit:
    query, target, *numbers = line.split("\t")
    return ProteinHit(ids[int(query)], target, *map(float, numbers))
