"""What stands before the handler: `validate` for the arguments, `check` for references and checks, `confirm`."""

from __future__ import annotations

import inspect
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from failsoft.framework.answer.candidates import FailedReference
from failsoft.framework.arguments.marks import NameKind, Parameter, under_own_names
from failsoft.framework.arguments.wording import unresolved
from failsoft.framework.asking.consent import consent_receipt, consent_to, require_consent
from failsoft.framework.call import CallContext
from failsoft.framework.call.call import Call
from failsoft.framework.call.chain import Proceed, Step
from failsoft.framework.call.operation import Operation
from failsoft.framework.errors import InvalidParameter, ToolError
from failsoft.framework.threads import runs_on_loop, use_on

if TYPE_CHECKING:
    from failsoft.framework.call.toolset import BaseTool
    from failsoft.framework.errors.violations import Violation


@dataclass(frozen=True, slots=True)
class Check:
    """One check. Sync checks run in a worker thread, as sync handlers do.

    They often read a file or query a database, and on the event loop one that hangs would stop the server with its time
    limits. The switch takes 45 to 60 us; a check that only computes should be `async def`. Checks must have no effects:
    they also run for the arguments of a next step before it is sent.

    Args:
        of: Returns the function to run for a call, or None, as for an optional argument that is not given.
        is_async: Whether that function runs on the event loop.
    """

    of: Callable[[Call], Callable[[], Any] | None]
    is_async: bool


def check(checks: Sequence[Check]) -> Step:
    """Return the link that runs the checks in the order of their declaration; the first error ends the call."""

    async def step(call: Call, proceed: Proceed) -> Any:
        await run_checks(checks, call)
        return await proceed(call)

    return step


async def run_checks(checks: Sequence[Check], call: Call) -> None:
    """Run the checks of a call's arguments in order.

    Adjacent sync checks share one switch to a thread, because the switch is the expensive part.

    Raises:
        ToolError: The error of the first check that fails.
    """
    for_thread: list[Callable[[], Any]] = []
    for item in checks:
        work = item.of(call)
        if work is None:
            continue
        if not item.is_async:
            for_thread.append(work)
            continue
        if for_thread:
            await _in_thread(call, for_thread)
            for_thread = []
        await work()
    if for_thread:
        await _in_thread(call, for_thread)


async def _in_thread(call: Call, works: Sequence[Callable[[], Any]]) -> None:
    remaining = iter(works)

    def run() -> Any:
        """Run checks until one returns an awaitable, and return that: a plain function may return a coroutine."""
        for work in remaining:
            verdict = work()
            if inspect.isawaitable(verdict):
                return verdict
        return None

    while (verdict := await call.bound.threads.run(run)) is not None:
        await verdict


def confirm(checks: Sequence[Check]) -> Step:
    """Return the link that lets a call go on only with the consent of the person who uses the client.

    The person is asked once the checks have passed; they run again before the handler. The consent is to the arguments
    that were shown, however often they run, and not to those that a strategy makes of them.

    Raises:
        APPROVAL_REQUIRED: The person did not consent, or cannot be asked; nothing was changed.
    """

    async def step(call: Call, proceed: Proceed) -> Any:
        to_arguments = consent_to(call.arguments)
        if call.told.consent == to_arguments:
            return await proceed(call)
        await run_checks(checks, call)
        if call.read_only and call.bound.declaration.confirm is not True:
            return await proceed(call)
        is_given = call.scope.consent == to_arguments
        receipt = consent_receipt(call.operation) if is_given else await require_consent(call)
        call.tell(consent=to_arguments)
        value = await proceed(call)
        call.recovered(replace(receipt, attempts=call.attempt))
        return value

    return step


_NEVER_POSITIONAL = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


Found: TypeAlias = Iterator[tuple[str, Any]]
"""Values to look up, each with its path in the arguments."""


def checks_of(
    declaration: Operation, tool: BaseTool, parameters: Sequence[Parameter], schema: dict[str, Any]
) -> list[Check]:
    """Return the checks of stage 2 in their order: references first, then the `@op.check` methods.

    Raises:
        TypeError: A check has a parameter that its operation does not have.
    """
    defaults = {item.name: item.default for item in parameters if item.default is not inspect.Parameter.empty}
    if declaration.input_schema is not None:
        defaults = {name: item.get("default") for name, item in schema.get("properties", {}).items()}
    known = {*defaults, *(item.name for item in parameters)}
    methods = _own(declaration.checks, tool)
    return [
        *(item for parameter in parameters for item in _references(parameter, tool)),
        *(_check(method, tool, defaults, known) for method in methods),
    ]


def reviews_of(declaration: Operation, tool: BaseTool) -> tuple[Callable[[Call, Any], Awaitable[Any]], ...]:
    """Return the plausibility checks of stage 3 in their order."""
    return tuple(_review(method, tool) for method in _own(declaration.reviews, tool))


def _references(parameter: Parameter, tool: BaseTool) -> Iterator[Check]:
    name = parameter.name

    def value(call: Call) -> Found:
        if call.arguments.get(name) is not None:
            yield name, call.arguments[name]

    def items(call: Call) -> Found:
        for index, item in enumerate(call.arguments.get(name) or ()):
            yield f"{name}.{index}", item

    for find, marks in ((value, parameter.references), (items, parameter.item_references)):
        for mark in marks:
            if mark.lookup is not None:
                yield _reference(find, _lookup(mark.lookup, tool), mark.kind)


def _lookup(lookup: Callable[..., Any], tool: BaseTool) -> Callable[[Any], Any]:
    parameters = inspect.signature(lookup).parameters.values()
    needed = [item for item in parameters if item.default is item.empty and item.kind not in _NEVER_POSITIONAL]
    wants_tool = len(needed) > 1
    return partial(lookup, tool) if wants_tool else lookup


def _reference(find: Callable[[Call], Found], lookup: Callable[[Any], Any], kind: NameKind) -> Check:
    is_async = runs_on_loop(lookup)

    def of(call: Call) -> Callable[[], Any] | None:
        found = list(find(call))
        if not found:
            return None
        search = _ReferenceSearch(lookup, kind, call)
        return partial(search.await_each if is_async else search.call_each, found)

    return Check(of, is_async=is_async)


@dataclass(frozen=True, slots=True)
class _ReferenceSearch:
    """The look-up of some values of one call; records the first one that is not found."""

    lookup: Callable[[Any], Any]
    kind: NameKind
    call: Call

    async def await_each(self, found: Iterable[tuple[str, Any]]) -> None:
        for path, value in found:
            try:
                verdict = self.lookup(value)
                self._accept(path, value, await verdict if inspect.isawaitable(verdict) else verdict)
            except ToolError as error:
                self._note(error, path, value)
                raise

    def call_each(self, found: Iterable[tuple[str, Any]]) -> Any:
        """Look up values in a thread; an awaitable result is returned, to be awaited on the loop."""
        remaining = iter(found)
        for path, value in remaining:
            try:
                verdict = self.lookup(value)
                if inspect.isawaitable(verdict):
                    return self._await_rest(path, value, verdict, remaining)
                self._accept(path, value, verdict)
            except ToolError as error:
                self._note(error, path, value)
                raise
        return None

    async def _await_rest(
        self, path: str, value: Any, verdict: Awaitable[Any], remaining: Iterable[tuple[str, Any]]
    ) -> None:
        try:
            self._accept(path, value, await verdict)
        except ToolError as error:
            self._note(error, path, value)
            raise
        await self.await_each(remaining)

    def _accept(self, path: str, value: Any, verdict: Any) -> None:
        """Treat False as not found, for look-ups that are predicates."""
        if verdict is False:
            raise InvalidParameter.from_violations([unresolved(path, value, self.call.bound.input_schema)])

    def _note(self, error: ToolError, path: str, value: Any) -> None:
        if self.call.told.failed_reference is None:  # later values are those of a strategy, not the caller's
            self.call.tell(failed_reference=FailedReference(error, path, self.kind, value))


def _own(methods: Iterable[Callable[..., Any]], tool: BaseTool) -> Iterator[Callable[..., Any]]:
    """Yield the checks of an operation from this toolset's class: a subclass may override them by name."""
    family = type(tool).__mro__
    for method in methods:
        name = method.__name__
        is_attribute = any(vars(kind).get(name) is method for kind in family)
        yield getattr(type(tool), name) if is_attribute else method


def _check(method: Callable[..., Any], tool: BaseTool, defaults: dict[str, Any], known: set[str]) -> Check:
    parameters = dict(list(inspect.signature(method).parameters.items())[1:])
    context = next((name for name, item in parameters.items() if _is_context(item.annotation)), None)
    names = [name for name in parameters if name != context]
    for name in names:
        if name not in known and parameters[name].default is inspect.Parameter.empty:
            msg = f"{method.__qualname__} asks for '{name}', which the operation it checks does not take"
            raise TypeError(msg)

    def of(call: Call) -> Callable[[], Any]:
        at_hand = {**defaults, **call.arguments}
        values = {name: at_hand[name] for name in names if name in at_hand}
        if context is not None:
            values[context] = call
        return partial(method, tool, **values)

    return Check(of, is_async=runs_on_loop(method))


def _is_context(annotation: Any) -> bool:
    return annotation in (Call, CallContext, Call.__name__, CallContext.__name__)


def _review(method: Callable[..., Any], tool: BaseTool) -> Callable[[Call, Any], Awaitable[Any]]:
    is_async = runs_on_loop(method)

    def review(call: Call, value: Any) -> Awaitable[Any]:
        return call.bound.threads.run_author(partial(method, tool, value), is_async=is_async)

    return review


def validate(joined: Sequence[Check] = ()) -> Step:
    """Return the link that validates the arguments, and counts the calls that the toolset's event loop runs.

    Args:
        joined: The checks of stage 2 if their faults are reported together with those of stage 1 (seed 003): if an
            argument has a fault, the checks of the other arguments still run.
    """

    async def step(call: Call, proceed: Proceed) -> Any:
        """Validate the arguments before any other work.

        Raises:
            INVALID_PARAM: With every fault as a violation; or the error class declared for a faulty parameter.
            CONFIG_ERROR: The toolset has calls on another event loop.
        """
        loop = get_running_loop()
        bound = call.bound
        use = bound.tool.loop_use
        if use is not None and use.loop is loop:
            use.calls += 1
        else:
            use = use_on(loop, bound.tool)
        try:
            arguments = bound.arguments
            aliases = arguments.aliases
            if aliases:  # an argument that was sent by an alias gets its own name, which the rest of the call knows
                call.params = under_own_names(call.params, aliases)
            try:
                if arguments.validate_beside is None:
                    call.arguments = arguments.validate(call.params)
                else:
                    call.arguments = await arguments.validate_beside(call.params, bound.threads.run)
            except InvalidParameter as refused:
                if not joined:
                    raise
                more = await _faults(call, refused, joined)
                raise (InvalidParameter.from_violations([*refused.violations, *more]) if more else refused) from None
            return await proceed(call)
        finally:
            use.calls -= 1

    return step


async def _faults(call: Call, refused: InvalidParameter, checks: Sequence[Check]) -> list[Violation]:
    """Return the faults that checks find in the arguments that are valid so far."""
    faulty = {violation.path.partition(".")[0] for violation in refused.violations}
    known = call.bound.input_schema.get("properties", {})
    call.arguments = {name: value for name, value in call.params.items() if name in known and name not in faulty}
    found: list[Violation] = []
    for item in checks:
        work = item.of(call)
        try:
            if work is not None:
                await call.bound.threads.run_author(work, is_async=item.is_async)
        except ToolError as error:
            found += error.violations
        except Exception:  # noqa: BLE001, S112 - a check that misses an argument; the call is refused in any case
            continue
    call.arguments = {}
    return found
