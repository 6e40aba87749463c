"""Run ModelSEEDpy in a separate Python process, isolated from its output and failures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from failsoft.framework.safe.redaction import redact_paths
from failsoft.framework.text import bounded
from failsoft.tools.flux.failures import ModelSeedPyError
from failsoft.tools.flux.work.building.homology import drafted, gene_ids
from failsoft.tools.flux.workers.fork_server import ending_with_this_process
from failsoft.tools.flux.workers.worker import progress

_PROGRAM = Path(__file__).with_name("modelseedpy_builder.py")
_RESIDUES = re.compile(r"[A-Z*]{12,}")
"""What may be a part of a protein."""
_BETWEEN_ROLES = re.compile(r"\s+/\s+|\s+@\s+|\s*;\s+")
_MESSAGE_AT_MOST = 300


def build_from_functions(
    sequences: Mapping[str, str],
    functions: Mapping[str, str],
    template: str,
    name: str,
    places: Mapping[str, str],
    limit_s: float,
) -> dict[str, Any]:
    """Return the base of a draft's recipe, and its facts: a task.

    Args:
        sequences: Proteins by id.
        functions: Their functional roles by id.
        template: The name of a template of ModelSEED.
        name: What the caller calls the model.
        places: The `python` that has ModelSEEDpy, this one if empty, and the file of the `template`.
        limit_s: Seconds after which it is killed.

    Raises:
        MODELSEEDPY_ERROR: It raised an exception, or ended without an answer.
    """
    progress(0, 2, "Building with ModelSEEDpy")
    genes = gene_ids(sequences)
    order = {
        "sequences": {genes[protein]: sequence for protein, sequence in sequences.items()},
        "functions": {genes[protein]: split_roles(function) for protein, function in functions.items()},
        "template": places["template"],
    }
    said = _run(order, places["python"] or sys.executable, limit_s)
    if "model" not in said:
        raise ModelSeedPyError(
            operation=str(said.get("operation", "start")),
            exception_type=str(said.get("exception_type", "Exception")),
            exception_message=_redacted(str(said.get("exception_message", ""))),
            template_requested=template,
        )
    progress(1, 2, "Making the draft")
    return drafted(said["model"], source="modelseedpy", template=template, name=name)


def split_roles(function: str) -> list[str]:
    """Return the roles in a function: several are written with ` / `, ` @ ` or `; `, and a comment after `#`."""
    return [part.strip() for part in _BETWEEN_ROLES.split(function.partition("#")[0]) if part.strip()]


def _redacted(text: str) -> str:
    """Return a library's message without paths of this server and without sequences, shortened."""
    return bounded(_RESIDUES.sub("<sequence>", redact_paths(text)), _MESSAGE_AT_MOST)


def _run(order: Mapping[str, Any], python: str, limit_s: float) -> dict[str, Any]:
    try:
        done = subprocess.run(  # noqa: S603 - the operator's Python and a fixed program
            [python, str(_PROGRAM)],
            input=json.dumps(order).encode(),
            capture_output=True,
            timeout=limit_s,
            check=False,
            preexec_fn=ending_with_this_process(),
        )
        said: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"exception_type": "TimeoutExpired", "exception_message": f"it took longer than {limit_s:g} seconds"}
    except (OSError, ValueError) as error:
        return {"exception_type": type(error).__name__, "exception_message": "its process ended without an answer"}
    return said
