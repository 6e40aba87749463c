"""The answer of a job as it is stored: the operation's own response, encoded once, and the facts to make it again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from failsoft.framework.answer.failure import Failure, RetryAdvice
from failsoft.framework.answer.response import ERROR_KEY, EncodedResponse, Failed, Metadata, Success, ToolResponse
from failsoft.framework.safe.json_safe import Encoded, json_safe
from failsoft.recovery.idempotency.outcomes import block_from, dumped_block, error_facts, error_from


def stored(response: ToolResponse[Any]) -> dict[str, Any]:
    """Return the answer to store, as JSON values.

    `json` is the response as compact JSON, `text` what a model reads where that differs, `content` its further blocks,
    `meta` and `is_error` as in the result of a call, `time_ms` its duration; of a failure `failure` are its
    message and the facts of its typed error.
    """
    encoded = response.encode()
    failure = response.error
    return {
        "json": encoded.json.text,
        "text": "" if encoded.text == encoded.json.text else encoded.text,
        "is_error": encoded.is_error,
        "meta": json_safe(encoded.meta),
        "content": [json_safe(dumped_block(block)) for block in encoded.content],
        "time_ms": response.metadata.execution_time_ms,
        "failure": None if failure is None else [failure.message, json_safe(error_facts(failure.exception))],
    }


def structured(answer: Mapping[str, Any]) -> Any:
    """Return the response of a stored answer as a tree: its `structuredContent`."""
    return json.loads(answer["json"])


def response_from(answer: Mapping[str, Any]) -> ToolResponse[Any]:
    """Return the response of a stored answer; it is encoded as it was."""
    content = tuple(block_from(block) for block in answer["content"])
    json_text = Encoded(answer["json"])
    encoded = EncodedResponse(
        json_text, answer["text"] or answer["json"], answer["is_error"], dict(answer["meta"]), content
    )
    metadata = Metadata(answer["time_ms"])
    if answer["failure"] is None:
        tree = json_text.tree
        data = tree.get("data", tree) if isinstance(tree, dict) else tree
        return Success(True, data, None, metadata, content, None, encoded)  # noqa: FBT003 - as in `run.py`
    told, (message, facts) = answer["meta"][ERROR_KEY], answer["failure"]
    error = error_from(facts, told["effect"])
    failure = Failure(
        message=message,
        retry=RetryAdvice(**told["retry"]),
        exception=error,
        **{name: told[name] for name in ("code", "category", "tool", "operation", "effect", "error_id", "timestamp")},
    )
    return Failed(False, None, failure, metadata, (), None, encoded)  # noqa: FBT003 - as in `run.py`
