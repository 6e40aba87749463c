"""Errors for unknown models and media (seed 002)."""

from __future__ import annotations

from failsoft.framework.errors import NotFound, Public


class ModelNotFound(NotFound):
    """There is no model of this id.

    Raised when: `model_id` names no model, or one that was deleted or has expired; or `name` names none that can be
    loaded.
    Caller: use one of `available_models`, or load or build a model first.
    Operator: raise `FAILSOFT_FLUX_KEEP_S` or `FAILSOFT_FLUX_KEEP_COUNT` if models are gone too soon.
    """

    requested_id: Public[str]
    available_models: Public[list[str]]
    num_available: Public[int]
    code = "MODEL_NOT_FOUND"
    message = 'No model "{requested_id}"; it was never made, was deleted or has expired.'
    hints = (
        "Use the id of a model that list_models returns",
        "Make a model with load_model or build_model",
    )


class MediaNotFound(NotFound):
    """There is no medium of this id.

    Raised when: `media_id` names no medium, or one that has expired.
    Caller: use one of `available_media`, or build a medium first.
    Operator: raise `FAILSOFT_FLUX_KEEP_S` or `FAILSOFT_FLUX_KEEP_COUNT` if media are gone too soon.
    """

    requested_id: Public[str]
    available_media: Public[list[str]]
    num_available: Public[int]
    code = "MEDIA_NOT_FOUND"
    message = 'No medium "{requested_id}"; it was never made, was deleted or has expired.'
    hints = (
        "Use the id of a medium that list_media returns",
        "Make a medium with build_media",
    )
