"""Client of RAST, the service that annotates proteins with functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from failsoft.framework.errors import Public, Unavailable, Words


class RastUnavailable(Unavailable):
    """Annotation by RAST was requested and is not available.

    Raised when: the server has no RAST endpoint or no ModelSEEDpy, or a request to the endpoint fails, times out or is
    answered with an error.
    Caller: call again with `annotate_with_rast` false.
    Operator: install ModelSEEDpy, set `FAILSOFT_FLUX_RAST_URL`, or check that the service there runs.
    """

    reason: Public[Words]
    code = "RAST_UNAVAILABLE"
    message = "RAST annotation is not available: {reason}."
    hints = ("Call build_model again with annotate_with_rast false",)
    retry = "after_fix"
    actor = "caller"


_PROBE_S = 5.0
_ANSWER_BYTES_AT_MOST = 50_000_000
_STAGES = (
    {"name": "annotate_proteins_kmer_v2", "kmer_v2_parameters": {}},
    {"name": "annotate_proteins_similarity", "similarity_parameters": {"annotate_hypothetical_only": 1}},
)


class Rast:
    """A RAST service (JSON-RPC).

    Args:
        url: Its endpoint.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    async def probe(self) -> None:
        """Send a cheap request to the service.

        Raises:
            RAST_UNAVAILABLE: It does not answer, or not as RAST does.
        """
        await self._ask("GenomeAnnotation.default_workflow", [], _PROBE_S)

    async def functions(self, sequences: Mapping[str, str], *, limit_s: float) -> dict[str, str]:
        """Return the functions of the proteins that RAST knows.

        Args:
            sequences: Proteins by id. They are sent to the service.
            limit_s: Seconds that it may take.

        Raises:
            RAST_UNAVAILABLE: It does not answer, or not as RAST does.
        """
        features = [{"id": name, "protein_translation": text} for name, text in sequences.items()]
        answer = await self._ask(
            "GenomeAnnotation.run_pipeline", [{"features": features}, {"stages": _STAGES}], limit_s
        )
        try:
            found = {str(item["id"]): str(item.get("function") or "") for item in answer[0]["features"]}
        except (LookupError, TypeError, AttributeError) as error:
            raise RastUnavailable(reason="its answer is not in the format of RAST") from error
        return {name: function for name, function in found.items() if function and name in sequences}

    async def _ask(self, method: str, params: list[Any], limit_s: float) -> Any:
        question = {"version": "1.1", "id": "1", "method": method, "params": params}
        try:
            async with (
                httpx2.AsyncClient(timeout=limit_s) as http,
                http.stream("POST", self._url, json=question) as response,
            ):
                body = bytearray()
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > _ANSWER_BYTES_AT_MOST:
                        raise RastUnavailable(reason="its answer is too large")
        except httpx2.TimeoutException as error:
            raise RastUnavailable(reason=f"it did not answer within {limit_s:g} seconds") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise RastUnavailable(reason="it cannot be reached") from error
        return _result(response.status_code, bytes(body))


def _result(status: int, body: bytes) -> Any:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and "result" in answer and answer.get("error") is None:
        return answer["result"]
    said = (
        "it reported an error of its own"
        if isinstance(answer, dict) and "error" in answer
        else "it is not a RAST service"
    )
    raise RastUnavailable(reason=f"it answered with HTTP status {status}" if status >= 400 else said)  # noqa: PLR2004 - errors of HTTP
