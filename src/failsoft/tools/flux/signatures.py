"""The settings of the flux toolset, and the arguments and results that several operations share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Reference
from failsoft.framework.setting_types import Names, WebAddress
from failsoft.framework.settings import ToolsetSettings


class FluxSettings(ToolsetSettings):
    """What an operator can set for the flux toolset."""

    tables: Path | None = Field(
        default=None,
        description="Folder with the tables of ModelSEED; by default those of an installed `dnngior`.",
    )
    keep_s: float = Field(
        default=86_400.0,
        gt=0,
        allow_inf_nan=False,
        description="Seconds after which a model or a medium of the flux toolset expires, used or not.",
    )
    keep_count: int = Field(
        default=100,
        ge=1,
        le=1_000,
        description="Models, and as many media, of the flux toolset that are kept for each caller.",
    )
    workers: int = Field(
        default=2, ge=1, le=256, description="Worker processes of the flux toolset, each with models in memory."
    )
    queue: int = Field(
        default=256, ge=0, le=100_000, description="Calls of the flux toolset that may wait for a worker process."
    )
    preload: Names = Field(
        default=("textbook",), description="Models that the worker processes load at their start, separated by commas."
    )
    models_in_memory: int = Field(
        default=8, ge=1, le=1_000, description="Models that each worker process keeps in memory."
    )
    worker_tasks: int = Field(
        default=10_000, ge=1, description="Calls after which a worker process is replaced by a new one."
    )
    worker_bytes: int = Field(
        default=2_000_000_000,
        ge=100_000_000,
        description="Memory in bytes above which a worker process is replaced; a single call may add as much.",
    )
    templates: Names = Field(
        default=(),
        description="Folders with the data of carveme, from which the flux toolset builds models, separated by commas; "
        "by default that of an installed `carveme`.",
    )
    diamond: str = Field(default="diamond", description="The program diamond, by name or path.")
    rast_url: WebAddress | None = Field(
        default=None,
        description="Endpoint of a RAST service that annotates protein functions; sequences are sent to it.",
    )
    modelseedpy_python: Path | None = Field(
        default=None, description="Python interpreter that has ModelSEEDpy; by default that of the server."
    )
    modelseedpy_templates: Path | None = Field(
        default=None, description="Folder with templates of ModelSEEDpy, as NAME.json; ModelSEEDpy ships none."
    )


_ID_AT_MOST = 128
_HANDLE = Reference(kind="handle")
_IDENTIFIER = Reference(kind="identifier")
_SPELLED = Reference(kind="spelled")
"""The kinds of names that the handlers look up themselves, since models and media belong to callers."""

ModelId = Annotated[
    str,
    _HANDLE,
    Field(
        max_length=_ID_AT_MOST,
        description="Id of a model, as load_model, build_model or list_models returned it",
        examples=["model_20261122_a1b2c3"],
    ),
]
MediaId = Annotated[
    str,
    _HANDLE,
    Field(
        max_length=_ID_AT_MOST,
        description="Id of a medium, as build_media returned it, or a predefined one such as minimal_aerobic",
        examples=["minimal_aerobic"],
    ),
]
UsedMediaId = Annotated[
    str | None,
    _HANDLE,
    Field(
        max_length=_ID_AT_MOST,
        description="Id of a medium, as build_media returned it, or a predefined one (minimal_aerobic); left out, "
        "the model's own bounds",
        examples=["minimal_aerobic"],
    ),
]
_ReactionId = Annotated[str, Field(min_length=1, max_length=_ID_AT_MOST)]
Objective = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=_ID_AT_MOST,
        description="Id of the reaction to optimize; left out, the model's own objective",
    ),
]
ReactionIds = Annotated[
    list[_ReactionId] | None,
    _IDENTIFIER,
    Field(min_length=1, max_length=10_000, description="Reactions by id", examples=[["PGK"]]),
]
GeneIds = Annotated[
    list[_ReactionId] | None,
    _IDENTIFIER,
    Field(min_length=1, max_length=10_000, description="Genes by id or name", examples=[["b2926", "pfkA"]]),
]
FilePath = Annotated[
    str | None,
    _SPELLED,
    Field(min_length=1, max_length=4_096, description="Path of a file below {root}"),
]

BUILDING_S = 300.0
"""Seconds for calls that compare a whole genome, or solve thousands of problems."""
LOADING_S = 60.0
"""Seconds for calls that may have to load a model of a whole genome before they compute."""


class _MakesAModel(TypedDict):
    destructive: bool
    effects: bool
    verify_with: str


MAKES_A_MODEL: _MakesAModel = {"destructive": False, "effects": True, "verify_with": "list_models"}
"""Of an operation that changes nothing but the list of models, to which it adds one when that is computed."""


class _WritesAFile(TypedDict):
    idempotent: bool
    destructive: bool
    effects: bool
    open_world: bool


WRITES_A_FILE: _WritesAFile = {"idempotent": True, "destructive": False, "effects": True, "open_world": False}
"""Of an operation that changes nothing but the new file at `path`, where one is given."""


class Analysis(TypedDict):
    """What was asked: the model, the medium if it is not the model's own, and the reaction that is optimized."""

    model_id: str
    media_id: NotRequired[str]
    objective: str


class SuggestedCall(TypedDict):
    """A call that leads on from a success."""

    tool: str
    arguments: dict[str, Any]
    why: str
