"""Script that builds a model with ModelSEEDpy and writes it to its original standard output.

It is run by path, in the Python that has ModelSEEDpy, and does not import failsoft. ModelSEEDpy prints when it is
imported: that goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
"""The folder of this script, removed from `sys.path`, as its modules shadow third-party ones."""


def build(order: dict[str, Any], at: Callable[[str], None]) -> Any:
    """Return the model as cobra's JSON data; `at` is called with the name of each step."""
    at("import modelseedpy")
    seed = import_module("modelseedpy")
    genes = import_module("modelseedpy.core.msgenome")
    templates = import_module("modelseedpy.core.mstemplate")
    at("MSTemplateBuilder.from_dict")
    text = Path(order["template"]).read_text(encoding="utf-8")
    template = templates.MSTemplateBuilder.from_dict(json.loads(text)).build()
    at("MSGenome.add_features")
    genome = seed.MSGenome()
    features = []
    for name, sequence in order["sequences"].items():
        feature = genes.MSFeature(name, sequence)
        for role in order["functions"].get(name, ()):
            feature.add_ontology_term("RAST", role)
        features.append(feature)
    genome.add_features(features)
    at("MSBuilder.build")
    model = seed.MSBuilder(genome, template).build("draft", annotate_with_rast=False)
    return import_module("cobra.io").model_to_dict(model)


def main() -> None:
    """Read the order from standard input and answer with a model, or with what went wrong."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _HERE]
    doing = ["start"]
    try:
        said = {"model": build(json.load(sys.stdin), lambda step: doing.__setitem__(0, step))}
    except BaseException as error:  # noqa: BLE001 - any exception is reported to the calling process
        said = {"operation": doing[0], "exception_type": type(error).__name__, "exception_message": str(error)[:300]}
    json.dump(said, answer)
    answer.close()


if __name__ == "__main__":
    main()
