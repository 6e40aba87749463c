"""Choose how a model is built from proteins, with which data, and refuse invalid requests before the build."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from failsoft.framework.call.call import Call
from failsoft.framework.errors import InvalidParameter, NextStep, ToolError
from failsoft.framework.errors.corrections import slip_of
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded
from failsoft.tools.flux.building.rast import Rast
from failsoft.tools.flux.building.sequences import invalid_sequences, unusual_lengths
from failsoft.tools.flux.building.templates import TEMPLATES, Route, TemplateData
from failsoft.tools.flux.errors.building import InvalidTemplateName
from failsoft.tools.flux.errors.gapfill import TemplateNotLoaded
from failsoft.tools.flux.settings import FluxSettings
from failsoft.tools.flux.tasks import Engine, compute

_HINT = "Name folders, wheels or sdists with the data in FAILSOFT_FLUX_TEMPLATES: pip download --no-deps carveme pyfba"
_DIAMOND_HINT = "Install diamond (Debian: diamond-aligner), or name it in FAILSOFT_FLUX_DIAMOND"
_WITH_FUNCTIONS = "Give the functional roles of the proteins as functions: the tables of this template are installed"
_ANSWER_S = 5.0
"""Seconds of the call's time that are left for what comes after the longest step."""
_LONGEST_S = 600.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """The request of a build_model call."""

    sequences: Mapping[str, str]
    template: str
    name: str
    with_rast: bool
    functions: Mapping[str, str] | None


class Builders:
    """The routes by which this server builds models.

    Args:
        settings: The route and the locations of its data (`FAILSOFT_FLUX_...`).
        data: Where the data of carveme and PyFBA are.
    """

    def __init__(self, settings: FluxSettings, data: TemplateData) -> None:
        self._settings = settings
        self.data = data
        self.rast = Rast(settings.rast_url)

    async def check(self, call: Call, wanted: Wanted) -> None:
        """Refuse what cannot be built, in the order of seed 002; all faults of the arguments in one answer.

        Raises:
            INVALID_PROTEIN_SEQUENCES: Ids or sequences that cannot be used.
            INVALID_TEMPLATE_NAME: There is no such template.
            INVALID_PARAM: Functions of proteins that are not given.
            TEMPLATE_NOT_LOADED: What the template needs is not on this server.
            RAST_UNAVAILABLE: RAST is requested and does not answer.
        """
        faults = [
            fault
            for fault in (invalid_sequences(wanted.sequences), _template_fault(wanted), _functions_fault(wanted))
            if fault is not None
        ]
        if faults:
            first = faults[0]
            first.violations = tuple(violation for fault in faults for violation in fault.violations)
            if len(faults) == 1 and isinstance(first, InvalidTemplateName) and first.closest:
                first.next_step = NextStep(call.operation, {**call.params, "template": first.closest})
            raise first
        await call.bound.threads.run(lambda: self._require_data(wanted))
        if wanted.with_rast:
            await self.rast.probe()

    async def build(self, call: Call, engine: Engine, wanted: Wanted) -> dict[str, Any]:
        """Return base, facts and growth of the new model."""
        functions = wanted.functions
        limit_s = _left(call)
        if wanted.with_rast:
            call.report_progress(0, 4, "Asking RAST for the functions of the proteins")
            functions = {**await self.rast.functions(wanted.sequences, limit_s=limit_s), **(functions or {})}
        order = {"route": self.route(wanted), "template": wanted.template, "name": wanted.name, "limit_s": limit_s}
        order |= await call.bound.threads.run(self._places)
        for warning in unusual_lengths(wanted.sequences):
            call.warn(warning)
        built: dict[str, Any] = await compute(
            engine, call, "building.build:build", order, dict(wanted.sequences), dict(functions or {})
        )
        return built

    def route(self, wanted: Wanted) -> Route:
        """Return the route: the operator's choice, else the one that suits the arguments."""
        chosen = self._settings.builder
        if chosen != "auto":
            return chosen
        return "template" if wanted.with_rast or wanted.functions else "homology"

    def universe(self, base: Mapping[str, Any]) -> dict[str, str]:
        """Return the source of the reactions for gapfilling a model.

        Raises:
            TEMPLATE_NOT_LOADED: The model is made of a template whose data are gone.
        """
        template = TEMPLATES.get(str(base.get("template")), TEMPLATES["GramNegative"])
        if base.get("source") in {"modelseed-template", "modelseedpy"}:
            if self.data.pyfba is None or not template.tables:
                raise self._not_loaded(str(base.get("template")), "template", ("the tables of PyFBA",), _HINT)
            return {"source": "modelseed", "folder": str(self.data.pyfba), "template": str(base["template"])}
        if self.data.carveme is not None:
            file = self.data.carveme / f"universe_{template.universe or 'bacteria'}.xml.gz"
            if file.is_file():
                return {"source": "carveme", "file": str(file)}
        return {"source": "shipped"}

    def _require_data(self, wanted: Wanted) -> None:
        """Refuse a template whose data, or the program that needs them, are not installed."""
        route, template = self.route(wanted), TEMPLATES[wanted.template]
        if route == "homology":
            missing = [] if self.data.carveme is not None else ["the data of carveme"]
            program = [] if self._diamond() else ["the program diamond"]
            if not missing and not template.universe:
                missing = [f"proteins for '{wanted.template}': give functions to build it from its tables"]
            if missing or program:
                hint = _HINT if missing else _DIAMOND_HINT
                raise self._not_loaded(wanted.template, route, (*missing, *program), hint)
        elif route == "template" and (self.data.pyfba is None or not template.tables):
            lacks = "the tables of PyFBA" if self.data.pyfba is None else f"tables for '{wanted.template}'"
            raise self._not_loaded(wanted.template, route, (lacks,), _HINT)

    def _not_loaded(self, template: str, route: Route, missing: tuple[str, ...], hint: str) -> TemplateNotLoaded:
        has_program = route != "homology" or self._diamond()
        loaded = self.data.loaded(route) if has_program else ()
        return TemplateNotLoaded(
            requested_template=template,
            missing=missing,
            loaded_templates=loaded,
            operator_hint=hint,
            effect="none",
            suggestions=[_WITH_FUNCTIONS] if route == "homology" and template in self.data.loaded("template") else [],
            next_step=None if loaded else NextStep("load_model", {"name": "iJO1366"}),
        )

    def _places(self) -> dict[str, str]:
        settings = self._settings
        return {
            "carveme": str(self.data.carveme or ""),
            "pyfba": str(self.data.pyfba or ""),
            "diamond": self._diamond(),
            "python": str(settings.modelseedpy_python or ""),
            "templates": str(settings.modelseedpy_templates or ""),
        }

    def _diamond(self) -> str:
        return shutil.which(self._settings.diamond) or ""


def _abbreviated(given: str) -> str | None:
    """Return the only template that begins so: `gramneg`."""
    plain = "".join(filter(str.isalnum, given)).casefold()
    found = [name for name in TEMPLATES if plain and name.casefold().startswith(plain)]
    return found[0] if len(found) == 1 else None


def _template_fault(wanted: Wanted) -> ToolError | None:
    if wanted.template in TEMPLATES:
        return None
    closest = slip_of(wanted.template, TEMPLATES) or _abbreviated(wanted.template)
    given = bounded(wanted.template, 80)
    violation = Violation(
        path="template",
        reason="enum",
        message="is not a template",
        expected="the name of a template",
        allowed=tuple(TEMPLATES),
        suggestion=closest,
        received=given,
    )
    return InvalidTemplateName(
        requested_template=given, allowed_templates=tuple(TEMPLATES), closest=closest, violations=[violation]
    )


def _functions_fault(wanted: Wanted) -> ToolError | None:
    unknown = [name for name in wanted.functions or () if name not in wanted.sequences]
    if not unknown:
        return None
    return InvalidParameter.from_violations(
        [
            Violation(
                path=f"functions.{bounded(name, 100)}",
                reason="reference",
                message="is not an id in protein_sequences",
                expected="the id of a protein that is given",
            )
            for name in unknown[:20]
        ]
    )


def _left(call: Call) -> float:
    """Return the seconds that the longest step may take."""
    left = call.remaining_s()
    return _LONGEST_S if left is None else max(1.0, left - _ANSWER_S)
