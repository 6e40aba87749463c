"""The `/metrics` route: Prometheus exposition with content negotiation, rendered off the event loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from failsoft.framework.call.toolset import BaseTool
from failsoft.metrics import PrometheusRecorder, scrape

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.samples import Sample


class MetricsEndpoint:
    """ASGI app of the route; merges the registries of all runtimes.

    With metrics switched off it responds with 404, so that the target shows as down.
    """

    def __init__(self, tools: Iterable[BaseTool]) -> None:
        recorders = dict.fromkeys(tool.runtime.metrics for tool in tools)
        known = [recorder for recorder in recorders if isinstance(recorder, PrometheusRecorder)]
        self._recorder: Any = known[0] if len(known) == 1 else _MergedRegistries(known) if known else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one scrape."""
        request = Request(scope, receive)
        response: Response
        if request.method not in {"GET", "HEAD"}:
            response = PlainTextResponse("Method Not Allowed", 405, headers={"allow": "GET, HEAD"})
        elif self._recorder is None:
            response = PlainTextResponse("Metrics are switched off", 404)
        else:
            content, content_type = await scrape(self._recorder, request.headers.get("accept"))
            response = Response(content, headers={"content-type": content_type, "cache-control": "no-store"})
        await response(scope, receive, send)


class _MergedRegistries:
    """A registry that merges several recorders: samples grouped by family, each series once.

    Series that all recorders have (the versions) would otherwise be duplicates, which Prometheus rejects.
    """

    def __init__(self, recorders: Sequence[PrometheusRecorder]) -> None:
        from prometheus_client import CollectorRegistry  # noqa: PLC0415 - 25 ms; with one recorder the first scrape loads it

        self._registries = [recorder.registry for recorder in recorders]
        self.registry = CollectorRegistry()
        self.registry.register(self)  # only `collect` is called

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for registry in self._registries:
            for family in registry.collect():
                known = families.setdefault(family.name, family)
                if known is not family:
                    seen = {_series(sample) for sample in known.samples}
                    known.samples = [*known.samples, *(new for new in family.samples if _series(new) not in seen)]
        yield from families.values()


def _series(sample: Sample) -> tuple[str, frozenset[tuple[str, str]]]:
    return sample.name, frozenset(sample.labels.items())
