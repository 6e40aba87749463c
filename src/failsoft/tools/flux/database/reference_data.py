"""Locations of what models are built from: carveme's data, diamond, ModelSEEDpy and its templates."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from failsoft.framework.errors import ConfigurationError, Public, Unsupported, Words
from failsoft.tools.flux.signatures import FluxSettings

UNIVERSES: Final = {
    "GramNegative": "gramneg",
    "GramPositive": "grampos",
    "Bacteria": "bacteria",
    "Archaea": "archaea",
    "Cyanobacteria": "cyanobacteria",
}
"""The templates that are built from proteins, with the universe of carveme for each."""
_RAST, _DIAMOND, _MODELSEEDPY = "a RAST service", "the program diamond", "ModelSEEDpy"
_ONLY_FOR_BUILDING = (_RAST, _DIAMOND, _MODELSEEDPY)
"""What the gaps of a draft are filled without."""
_CORE = "Core"
"""The template of seed 002 that only ModelSEEDpy has."""
_CARVEME = Path("carveme", "data", "generated")
_CARVEME_HINT = (
    "pip install 'failsoft[flux-build]', or pip install --no-deps --ignore-requires-python --target DIR carveme "
    "and set FAILSOFT_FLUX_TEMPLATES to DIR"
)
_DIAMOND_HINT = "apt-get install diamond-aligner, or set FAILSOFT_FLUX_DIAMOND to the program"
_MODELSEEDPY_HINT = "pip install modelseedpy, or set FAILSOFT_FLUX_MODELSEEDPY_PYTHON to a Python that has it"
_TEMPLATES_HINT = "set FAILSOFT_FLUX_MODELSEEDPY_TEMPLATES to a folder that holds {template}.json"
_RAST_HINT = "set FAILSOFT_FLUX_RAST_URL"


class TemplateNotLoaded(Unsupported):
    """The server lacks data or programs that the template needs.

    Raised when: the name of the template is known, and the data or programs that it needs are not installed; `missing`
    lists them. `gapfill_model` raises it if the template of the draft is no longer installed.
    Caller: use one of `loaded_templates`; if there are none, use `load_model`, or report it to the user.
    Operator: install what the log names for each missing part, as a folder or a Python distribution.
    """

    requested_template: Public[str]
    missing: Public[tuple[Words, ...]] = ()
    loaded_templates: Public[tuple[str, ...]] = ()
    retry = "after_fix"
    code = "TEMPLATE_NOT_LOADED"
    message = "The template '{requested_template}' is not loaded; this server lacks {missing}."
    hints = ("Use a loaded template: {loaded_templates}", "Or use load_model, which needs no template")


class ReferenceData:
    """What models are built from, as far as it is on this server. Everything is looked up anew at each use.

    Args:
        settings: The locations (`FAILSOFT_FLUX_...`).

    Raises:
        CONFIG_ERROR: `FAILSOFT_FLUX_TEMPLATES` names something that is not a folder.
    """

    def __init__(self, settings: FluxSettings) -> None:
        self._settings = settings
        self._folders = [Path(name).expanduser() for name in settings.templates]
        wrong = [str(folder) for folder in self._folders if not folder.is_dir()]
        if wrong:
            raise ConfigurationError(
                issue=f"FAILSOFT_FLUX_TEMPLATES names {wrong[0]}, which is not a folder",
                resolution="name the folder that `pip install --no-deps --target` put carveme into",
            )

    @property
    def carveme(self) -> Path | None:
        """The folder of carveme's generated data: universes, proteins and their reactions."""
        found = (root / _CARVEME for root in self._roots())
        return next((folder for folder in found if (folder / "bigg_proteins.dmnd").is_file()), None)

    @property
    def diamond(self) -> str:
        """The path of the program diamond; empty if there is none."""
        return shutil.which(self._settings.diamond) or ""

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of all templates, whether they can be used or not."""
        folder = self._settings.modelseedpy_templates
        held = () if folder is None else sorted(file.stem for file in folder.glob("*.json"))
        return tuple(dict.fromkeys([*UNIVERSES, _CORE, *held]))

    def universe(self, template: str) -> Path | None:
        """Return the file with carveme's universe for a template."""
        folder = self.carveme
        file = None if folder is None else folder / f"universe_{UNIVERSES.get(template, '')}.xml.gz"
        return file if file is not None and file.is_file() else None

    def modelseedpy_template(self, template: str) -> Path | None:
        """Return the file of a template of ModelSEEDpy."""
        folder = self._settings.modelseedpy_templates
        file = None if folder is None else folder / f"{template}.json"
        return file if file is not None and file.is_file() else None

    def universe_of(self, base: Mapping[str, Any]) -> dict[str, str]:
        """Return where reactions that a model lacks come from: for a draft, the universe that it was built from.

        Args:
            base: Of the model's recipe.

        Raises:
            TEMPLATE_NOT_LOADED: It is a draft, and what it was built from is not on this server any more.
        """
        source, template = base.get("source"), str(base.get("template") or "GramNegative")
        by_functions = source == "modelseedpy"
        file = self.modelseedpy_template(template) if by_functions else self.universe(template)
        if file is not None:
            return {"source": "modelseedpy" if by_functions else "carveme", "file": str(file)}
        if source in {"carveme", "modelseedpy"}:
            lacks = self.lacks(template, with_rast=by_functions)
            raise self.not_loaded(template, {part: lacks[part] for part in lacks if part not in _ONLY_FOR_BUILDING})
        return {"source": "shipped"}

    def lacks(self, template: str, *, with_rast: bool) -> dict[str, str]:
        """Return everything that building with a template lacks, each with what the operator does about it."""
        if with_rast or template not in UNIVERSES:
            own = self._settings.modelseedpy_python
            parts: dict[str, tuple[object, str]] = {
                _MODELSEEDPY: (find_spec("modelseedpy") if own is None else shutil.which(own), _MODELSEEDPY_HINT),
                f"the template '{template}' of ModelSEEDpy": (
                    self.modelseedpy_template(template),
                    _TEMPLATES_HINT.format(template=template),
                ),
                _RAST: (self._settings.rast_url, _RAST_HINT),
            }
        else:
            folder = self.carveme
            parts = {
                "the data of carveme": (folder, _CARVEME_HINT),
                f"carveme's universe for '{template}'": (folder is None or self.universe(template), _CARVEME_HINT),
                _DIAMOND: (self.diamond, _DIAMOND_HINT),
            }
        return {part: hint for part, (found, hint) in parts.items() if not found}

    def not_loaded(self, template: str, lacks: dict[str, str], *, with_rast: bool = False) -> TemplateNotLoaded:
        """Return the error about a template that lacks this."""
        return TemplateNotLoaded(
            requested_template=template,
            missing=tuple(lacks),
            loaded_templates=tuple(name for name in self.templates if not self.lacks(name, with_rast=with_rast)),
            operator_hint="; ".join(dict.fromkeys(lacks.values())),
            effect="none",
        )

    def _roots(self) -> Iterator[Path]:
        """Yield the folders that may hold carveme, the operator's before what is installed."""
        yield from self._folders
        try:
            yield Path(str(importlib.metadata.distribution("carveme").locate_file("")))
        except importlib.metadata.PackageNotFoundError:
            return
