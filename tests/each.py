"""One test item over many values, where an item for each would cost more than the test itself."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., Any])


def each(names: str | Sequence[str], values: Iterable[Any] | Callable[[], Iterable[Any]]) -> Callable[[Test], Test]:
    """Run a test with each value, as `pytest.mark.parametrize` does, but as one item, whose fixtures all of them share.

    All values are tried, and the failures are raised together, each with its value as a note. Values that are
    expensive to make are given as a function, which is called when the test runs.
    """
    parameters = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = values if callable(values) else tuple(values)

    def cases() -> list[dict[str, Any]]:
        rows = given() if callable(given) else given
        made = [dict(zip(parameters, row if len(parameters) > 1 else [row], strict=True)) for row in rows]
        assert made, f"no values for {names}"
        return made

    def over_all(test: Test) -> Test:
        assert not inspect.isgeneratorfunction(test), "a test with `yield` would not run"
        assert not inspect.isasyncgenfunction(test), "a test with `yield` would not run"
        if inspect.iscoroutinefunction(test):

            async def run(**fixtures: Any) -> None:
                failures: list[BaseException] = []
                for case in (all_cases := cases()):
                    with _collected(failures, case):
                        await test(**case, **fixtures)
                _report(failures, len(all_cases))

        else:

            def run(**fixtures: Any) -> None:  # type: ignore[misc]
                failures: list[BaseException] = []
                for case in (all_cases := cases()):
                    with _collected(failures, case):
                        test(**case, **fixtures)
                _report(failures, len(all_cases))

        functools.update_wrapper(run, test)  # marks too
        signature = inspect.signature(test)
        fixtures = [one for name, one in signature.parameters.items() if name not in parameters]
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return over_all


@contextmanager
def _collected(failures: list[BaseException], case: dict[str, Any]) -> Iterator[None]:
    try:
        yield
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:  # noqa: BLE001 - no value is left out
        failure.add_note("with " + ", ".join(f"{name}={_shown(value)}" for name, value in case.items()))
        failures.append(failure)


def _shown(value: Any) -> str:
    try:
        return repr(value)[:200]
    except BaseException:  # noqa: BLE001 - values may be hostile
        return f"<{type(value).__name__}>"


def _report(failures: list[BaseException], tried: int) -> None:
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {tried} values fail", failures)
