"""Errors for unknown models and media (seed 002)."""

from __future__ import annotations

from typing import ClassVar

from failsoft.framework.errors import NotFound, Public

__all__ = ["MediaNotFound", "ModelNotFound"]


class ModelNotFound(NotFound):
    """There is no model of this id.

    Raised when: `model_id` names no model, or one that was deleted or has expired; or `name` names none that can be
    loaded.
    Caller: use one of `available_models`, or load or build a model first.
    Operator: raise `FAILSOFT_FLUX_KEEP_S` or `FAILSOFT_FLUX_KEEP_COUNT` if models are gone too soon.
    Example:
        >>> code_of(ModelNotFound(requested_id="model_xyz", available_models=[], num_available=0))
        'MODEL_NOT_FOUND'
    """

    requested_id: Public[str]
    available_models: Public[list[str]]
    num_available: Public[int]
    code: ClassVar[str] = "MODEL_NOT_FOUND"
    message: str = 'No model "{requested_id}"; it was never made, was deleted or has expired.'
    hints: ClassVar[tuple[str, ...]] = (
        "Use the id of a model that list_models returns",
        "Make a model with load_model or build_model",
    )
    since: ClassVar[str] = "0.1.0"


class MediaNotFound(NotFound):
    """There is no medium of this id.

    Raised when: `media_id` names no medium, or one that has expired.
    Caller: use one of `available_media`, or build a medium first.
    Operator: raise `FAILSOFT_FLUX_KEEP_S` or `FAILSOFT_FLUX_KEEP_COUNT` if media are gone too soon.
    Example:
        >>> code_of(MediaNotFound(requested_id="media_xyz", available_media=[], num_available=0))
        'MEDIA_NOT_FOUND'
    """

    requested_id: Public[str]
    available_media: Public[list[str]]
    num_available: Public[int]
    code: ClassVar[str] = "MEDIA_NOT_FOUND"
    message: str = 'No medium "{requested_id}"; it was never made, was deleted or has expired.'
    hints: ClassVar[tuple[str, ...]] = (
        "Use the id of a medium that list_media returns",
        "Make a medium with build_media",
    )
    since: ClassVar[str] = "0.1.0"
