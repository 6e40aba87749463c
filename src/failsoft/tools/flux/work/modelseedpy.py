"""Run ModelSEEDpy in a separate Python process, isolated from its output and failures."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from failsoft.framework.safe.redaction import redact_paths
from failsoft.framework.text import bounded
from failsoft.tools.flux.failures import ModelSeedPyError
from failsoft.tools.flux.work.homology import gene_ids
from failsoft.tools.flux.work.making import draft
from failsoft.tools.flux.work.network import Network, NetworkMetabolite, NetworkReaction
from failsoft.tools.flux.work.template import split_roles
from failsoft.tools.flux.workers.fork_server import ending_with_this_process
from failsoft.tools.flux.workers.worker import progress

_PROGRAM = Path(__file__).with_name("modelseedpy_builder.py")
_RESIDUES = re.compile(r"[A-Z*]{12,}")
"""What may be a part of a protein."""
_MESSAGE_AT_MOST = 300


def build(
    sequences: Mapping[str, str],
    functions: Mapping[str, str],
    template: str,
    name: str,
    python: str,
    templates: str,
    limit_s: float,
) -> dict[str, Any]:
    """Return the base of a draft.

    Args:
        sequences: Proteins by id.
        functions: Their functional roles by id.
        template: The name of a template of ModelSEED.
        name: What the caller calls the model.
        python: The Python that has ModelSEEDpy; this one if empty.
        templates: The folder of its templates, as `NAME.json`.
        limit_s: Seconds after which it is killed.

    Raises:
        MODELSEEDPY_ERROR: It raised an exception, or ended without an answer.
    """
    progress(0, 2, "Building with ModelSEEDpy")
    genes = gene_ids(sequences)
    order = {
        "sequences": {genes[protein]: sequence for protein, sequence in sequences.items()},
        "functions": {genes[protein]: split_roles(function) for protein, function in functions.items()},
        "template": template,
        "templates": templates,
    }
    said = _run(order, python or sys.executable, limit_s)
    if "model" not in said:
        raise ModelSeedPyError(
            operation=str(said.get("operation", "start")),
            exception_type=str(said.get("exception_type", "Exception")),
            exception_message=_redacted(str(said.get("exception_message", ""))),
            template_requested=template,
        )
    progress(1, 2, "Making the draft")
    return {"base": draft(_network(said["model"]), source="modelseedpy", template=template, name=name)}


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


def _network(model: Mapping[str, Any]) -> Network:
    """Return the plain data of a model as cobra writes it."""
    metabolites = {
        item["id"]: NetworkMetabolite(
            item.get("name", ""),
            item.get("formula") or "",
            int(item.get("charge") or 0),
            item.get("compartment", ""),
        )
        for item in model["metabolites"]
    }
    reactions = {
        item["id"]: NetworkReaction(
            item.get("name", ""),
            item["metabolites"],
            _bound(item["lower_bound"], -math.inf),
            _bound(item["upper_bound"], math.inf),
            item.get("gene_reaction_rule", ""),
        )
        for item in model["reactions"]
    }
    objective = next((item["id"] for item in model["reactions"] if item.get("objective_coefficient")), "")
    return Network(metabolites, reactions, objective)


def _bound(value: Any, otherwise: float) -> float:
    return otherwise if value is None else float(value)
