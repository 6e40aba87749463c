"""The outermost link: turns a value or an exception into a `ToolResponse`, counts it, and logs it."""

from __future__ import annotations

import time
from typing import Any

from failsoft.framework import logs
from failsoft.framework.cancellation import is_real_cancellation
from failsoft.framework.chain import Proceed
from failsoft.framework.context import CallContext
from failsoft.framework.errors import ResultTooLarge, ToolError
from failsoft.framework.guidance import explain
from failsoft.framework.normalize import normalize
from failsoft.framework.ports import Outcome
from failsoft.framework.response import Metadata, ToolResponse

__all__ = ["observe"]


async def observe(call: CallContext, proceed: Proceed) -> ToolResponse[Any]:
    """Run the call and return its answer. Nothing but a real cancellation leaves this function as an exception."""
    metrics = call.bound.metrics
    metrics.started()
    try:
        value = await proceed(call)
        response = _success(call, value)
    except BaseException as raised:
        if is_real_cancellation(raised):
            metrics.finished("cancelled", time.perf_counter() - call.started_at)
            raise
        return _failure(call, normalize(raised))
    duration_s = response.metadata.execution_time_ms / 1000
    metrics.finished(_outcome(call), duration_s)
    logs.log_finished(call, duration_s)
    return response


def _success(call: CallContext, value: Any) -> ToolResponse[Any]:
    bound = call.bound
    data, blocks = bound.result.split(value)
    metadata = Metadata(
        round((time.perf_counter() - call.started_at) * 1000, 3),
        call.cache_hit,
        call.documents_processed,
        call.warnings or [],
        call.receipt,
    )
    response = ToolResponse(True, data, None, metadata, blocks, bound.wire)  # noqa: FBT003 - positional: half the cost
    limit = call.scope.max_response_bytes
    if limit is not None and (size := response.encode().size_bytes) > limit:
        raise ResultTooLarge(size_bytes=size, limit_bytes=limit)
    return response


def _outcome(call: CallContext) -> Outcome:
    if call.receipt is None:
        return "ok"
    return "degraded" if call.receipt.degraded else "recovered"


def _failure(call: CallContext, error: ToolError) -> ToolResponse[Any]:
    bound = call.bound
    duration_s = time.perf_counter() - call.started_at
    failure = explain(error, call)
    bound.metrics.finished("rejected" if failure.rejected else "error", duration_s)
    bound.metrics.failed(failure.category, failure.code)
    logs.log_failed(call, failure, duration_s)
    bound.alert(failure)
    call.error = None  # the error's traceback leads back to this call: nobody else would break the circle
    metadata = Metadata(round(duration_s * 1000, 3), warnings=call.warnings or [])
    return ToolResponse(success=False, error=failure, metadata=metadata, wire=bound.wire)
