"""What a caller gets for an error: effect, retry, next step and message, as a table over all categories."""

from __future__ import annotations

import datetime as dt
import itertools
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from failsoft import (
    ApprovalRequired,
    BaseTool,
    DocumentNotFound,
    Failure,
    InvalidParameter,
    NextStep,
    NotFound,
    PermissionDenied,
    RateLimited,
    StorageError,
    Timeout,
    ToolError,
    Unauthenticated,
    UnknownError,
    Unsupported,
    ValidationFailed,
    Violation,
    operation,
)
from failsoft.errors import CatalogueError
from failsoft.recovery import Call
from tests.catalogue import ERRORS
from tests.doors import (
    PATH,
    CallScope,
    Toolbox,
    categories_module as categories,
    explain,
    lint_failure,
)
from tests.each import each
from tests.framework.recording import quiet_runtime
from tests.framework.wellformed import check_wellformed

CATEGORIES: list[type[ToolError]] = [
    kind for kind in ToolError.__subclasses__() if kind.__module__ == categories.__name__
]


class Shop(BaseTool):
    """One operation of each kind, and ways to look at the state."""

    @operation(read_only=True)
    async def look(self, item: str = "") -> str:
        """Return an item."""
        return item

    @operation(idempotent=True)
    async def put(self, item: str, amount: int = 1) -> str:
        """Set an item's amount."""
        return item * amount

    @operation(verify_with="sold")
    async def sell(self, item: str, amount: int = 1) -> str:
        """Sell an item."""
        return item * amount

    @operation(read_only=True)
    async def prices(self) -> list[int]:
        """Return all prices."""
        return []

    @operation(read_only=True)
    async def sold(self, item: str, amount: int | None = None) -> int:
        """Return how many were sold."""
        return len(item) + (amount or 0)


class Other(BaseTool):
    """Another toolset of the same server."""

    @operation(read_only=True)
    async def weather(self) -> str:
        """Return the weather."""
        return "fine"


@cache
def shop(**settings: Any) -> Shop:
    return Shop(runtime=quiet_runtime(**settings))


@cache
def other() -> Other:
    return Other(runtime=quiet_runtime())


def explained(
    error: ToolError, name: str = "look", *, ran: bool = True, done: bool = False, tool: Any = None, **params: Any
) -> Failure:
    tool = tool or shop()
    box = Toolbox([other(), tool])
    call = Call(tool.operations[name], params or {"item": "a"}, CallScope(toolbox=box))
    call.attempt = int(ran)
    if ran:
        call.run_failed(error)
    call.handler_done = done
    failure = explain(error, call)
    assert [found for found in lint_failure(failure, box) if not failure.dropped_step] == []
    if failure.next_step is not None:
        bound = box.find(failure.next_step.tool)
        assert bound is not None
        bound.arguments.validate(failure.next_step.arguments)
    return failure


@pytest.mark.parametrize(("name", "ran"), list(itertools.product(["look", "put", "sell"], [False, True])))
@each("kind", CATEGORIES)
def test_effect_and_retry_follow_the_category_the_operation_and_the_phase(
    kind: type[ToolError], name: str, *, ran: bool
) -> None:
    error = kind(message="The thing that was asked for went wrong.")
    failure = explained(error, name, ran=ran)
    effect = "none" if name == "look" or not ran else "unknown"
    held_back = effect == "unknown" and name == "sell"
    assert failure.effect == effect
    assert failure.retry.when == ("never" if held_back else kind.retry)
    assert (failure.retry.after_seconds is not None) is (failure.retry.when == "after_delay")
    if failure.retry.when == "after_delay":
        assert failure.next_step == NextStep(name, {"item": "a"})
    if held_back:
        assert failure.next_step == NextStep("sold", {"item": "a"})
    assert failure.recoverable is (failure.retry.when != "never")
    assert failure.rejected is not ran


@pytest.mark.parametrize("name", ["look", "sell"])
@each("kind", ERRORS)
def test_every_code_of_the_catalogue_can_be_explained(kind: type[ToolError], name: str) -> None:
    failure = explained(kind(message="The thing that was asked for went wrong."), name)
    assert failure.code == kind.code
    if failure.retry.when == "never" and failure.next_step is None and kind.actor != "caller":
        assert failure.error_id in failure.message


@pytest.mark.parametrize(
    ("raised", "name", "done", "effect"),
    [
        (Timeout(effect="none"), "sell", False, "none"),
        (Timeout(effect="applied"), "sell", False, "applied"),
        (Timeout(effect="unknown"), "look", False, "none"),
        (Timeout(), "sell", True, "applied"),
        (Timeout(effect="none"), "sell", True, "applied"),
        (NotFound(effect="none"), "put", False, "none"),
    ],
)
def test_what_the_raiser_knows_of_the_effect_counts(raised: ToolError, name: str, effect: str, *, done: bool) -> None:
    assert explained(raised, name, done=done).effect == effect


@each(
    ("asked", "after", "words"),
    [
        (None, 2.0, "in 2 seconds"),
        (0, 0.0, "in 0 seconds"),
        (0.25, 0.25, "in 0.25 seconds"),
        (0.12345, 0.123, "in 0.123 seconds"),
        (1, 1.0, "in 1 second."),
        (1.2, 1.2, "in 2 seconds"),
        (90, 90.0, "in 90 seconds"),
        (2_592_000, 2_592_000.0, "in 2592000 seconds"),
        (float("inf"), 31_536_000.0, "in 31536000 seconds"),
        (float("nan"), 2.0, "in 2 seconds"),
        (-3, 2.0, "in 2 seconds"),
        (10**400, 31_536_000.0, "in 31536000 seconds"),
        ("5", 2.0, "in 2 seconds"),
        (dt.timedelta(seconds=5), 2.0, "in 2 seconds"),
    ],
)
def test_a_wait_is_reported_in_plain_seconds(asked: Any, after: float, words: str) -> None:
    failure = explained(RateLimited(retry_after_seconds=asked))
    assert failure.retry.to_dict() == {"when": "after_delay", "after_seconds": after}
    assert words in failure.message
    assert f"`{failure.operation}` again" in failure.message


STEPS: list[tuple[dict[str, Any], NextStep | None]] = [
    ({"tool": "sold", "arguments": {"item": "b"}}, NextStep("sold", {"item": "b"})),
    ({"tool": "weather"}, NextStep("weather", {})),
    ({"tool": "nothing", "arguments": {}}, None),
    ({"tool": "sold", "arguments": {}}, None),
    ({"tool": "sold", "arguments": {"item": 5}}, None),
    ({"tool": "sold", "arguments": {"item": "b", "more": 1}}, None),
    ({"tool": "sold", "arguments": {"item": "x" * 3_000}}, None),
    ({"tool": "sold", "arguments": {"item": "sk-abcdefghijklmnopqrstuvwxyz123456"}}, None),
]


@pytest.mark.parametrize(("step", "told_step"), STEPS)
def test_a_step_that_cannot_be_made_as_it_is_is_not_sent(step: Any, told_step: NextStep | None) -> None:
    failure = explained(NotFound(message="There is no such item.", next_step=step))
    assert failure.next_step == told_step
    assert bool(failure.dropped_step) is (told_step is None)


def test_a_step_of_the_raiser_never_leads_back_into_a_change_that_may_be_done() -> None:
    again = NextStep("sell", {"item": "a"})
    assert explained(Timeout(next_step=again), "sell").next_step == NextStep("sold", {"item": "a"})
    assert explained(Timeout(next_step=again, effect="none"), "sell").next_step == again
    assert explained(Timeout(next_step=NextStep("prices")), "sell").next_step == NextStep("sold", {"item": "a"})


def test_the_state_is_looked_at_with_the_declared_operation_alone() -> None:
    assert explained(Timeout(), "sell", item="a", amount=2).next_step == NextStep("sold", {"item": "a", "amount": 2})

    class Bare(BaseTool):
        @operation(read_only=True)
        async def state(self) -> str:
            """Return the state."""
            return "state"

        @operation()
        async def change(self) -> str:
            """Change it."""
            return "changed"

    assert explained(Timeout(), "change", tool=Bare(runtime=quiet_runtime())).next_step is None


@pytest.mark.parametrize("name", ["nothing", "change"])
def test_what_shows_the_state_is_a_read_only_operation_of_the_toolset(name: str) -> None:
    class Odd(BaseTool):
        @operation(verify_with=name)
        async def change(self) -> str:
            """Change it."""
            return "changed"

    with pytest.raises(TypeError, match="verify_with"):
        Odd(runtime=quiet_runtime())


def test_without_a_way_to_look_a_person_is_named() -> None:
    class Blind(BaseTool):
        @operation()
        async def change(self, item: str) -> str:
            """Change it."""
            return item

    tool = Blind(runtime=quiet_runtime())
    call = Call(tool.operations["change"], {"item": "a"}, CallScope())
    call.attempt = 1
    call.run_failed(Timeout())
    failure = explain(Timeout(), call)
    assert (failure.retry.when, failure.next_step) == ("never", None)
    assert failure.error_id in failure.message


FAULTS: list[tuple[dict[str, Any], NextStep | None]] = [
    ({"Item": "a"}, NextStep("sell", {"item": "a"})),
    ({"itm": "a"}, None),
    ({"item": "a", "amount": "2"}, NextStep("sell", {"item": "a", "amount": 2})),
    ({"ITEM": "a", "Amount": 2}, NextStep("sell", {"item": "a", "amount": 2})),
    ({"item": "a", "amount": "two"}, None),
    ({}, None),
    ({"item": "a", "colour": "x"}, None),
]


@pytest.mark.parametrize(("params", "step"), FAULTS)
def test_faults_that_can_be_corrected_are_corrected_in_the_next_step(
    params: dict[str, Any], step: NextStep | None
) -> None:
    tool = shop()
    with pytest.raises(InvalidParameter) as refused:
        tool.operations["sell"].arguments.validate(params)
    call = Call(tool.operations["sell"], params, CallScope())
    failure = explain(refused.value, call)
    assert failure.next_step == step
    assert lint_failure(failure, tool.toolbox) == []


@pytest.mark.parametrize(
    "facts", [{"retry": "later"}, {"actor": "nobody"}, {"http_status": 200}, {"http_status": "404"}]
)
def test_a_class_with_a_fact_that_does_not_exist_is_refused(facts: dict[str, Any]) -> None:
    body = {"__doc__": "A test's error.", "__module__": __name__, "code": "TEST_ODD_FACT", **facts}
    with pytest.raises(CatalogueError):
        type("OddFact", (NotFound,), body)


class Talkative(NotFound):
    """A test's error."""

    word: str
    count: int = 0
    code: ClassVar[str] = "TEST_TALKATIVE"
    message: str = "There is no {word}."
    hints: ClassVar[tuple[str, ...]] = ("Look for {word} elsewhere", "There are {count} others", "Be brief")


def test_suggestions_are_the_errors_own_each_once_and_few_and_hints_where_there_are_none() -> None:
    hints = ('Look for "ladder" elsewhere', "There are 0 others", "Be brief")
    failure = explained(Talkative(word="ladder", suggestions=["rope", "rope", *(f"number {n}" for n in range(20))]))
    assert failure.suggestions[:2] == ("rope", "number 0")
    assert len(failure.suggestions) == 8
    assert failure.hints == hints
    assert explained(Talkative(word="ladder")).suggestions == hints


def test_other_documents_are_put_as_a_question() -> None:
    failure = explained(DocumentNotFound(path="a.md", suggestions=["b.md"]))
    assert failure.suggestions == ("Did you mean: b.md?",)
    assert 'Candidates: "b.md".' in failure.message


@each("said,candidate,is_shown", [
    ("There is no book 'Dunes'.", "Dune", True),
    ("No document old/b.md.", "b.md", True),
    ("No document b.mdx.", "b.md", True),
    ("No document b.md.gz.", "b.md", True),
    ("There is no document b.md.", "b.md", False),
    ("There is no book 'dune', but 'Dune'.", "Dune", False),
])  # fmt: skip
def test_a_candidate_is_left_out_only_where_the_message_names_it(said: str, candidate: str, is_shown: bool) -> None:
    message = explained(NotFound(message=said, suggestions=[candidate])).message
    assert (f': "{candidate}".' in message) is is_shown


SECRETS = [
    "sk-abcdefghijklmnopqrstuvwxyz123456",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "postgres://u:hunter2@db/x",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("detail", ["minimal", "standard", "full"])
def test_secrets_are_sent_nowhere(secret: str, detail: str) -> None:
    tool = shop(detail=detail, debug_stack=True)
    faults = [Violation(path="item", reason="value", message=f"not {secret}")]
    error = ValidationFailed(
        message=f"It is not {secret}.",
        suggestions=[f"Use {secret}"],
        details={"text": secret, "password": "plain", "nested": [{"api_key": "plain"}]},
        violations=faults,
    )
    error.__cause__ = ValueError(secret)
    call = Call(tool.operations["look"], {"item": secret}, CallScope())
    call.attempt = 1
    failure = explain(error, call)
    shown = str(failure.to_dict() if hasattr(failure, "to_dict") else [
        failure.message, failure.suggestions, failure.violations, failure.details, failure.cause, failure.stack_trace,
        failure.next_step,
    ])  # fmt: skip
    assert secret not in shown
    assert "hunter2" not in shown
    assert "plain" not in shown


@pytest.mark.parametrize(
    ("settings", "details", "cause", "stack"),
    [
        ({}, False, False, False),
        ({"environment": "production"}, False, False, False),
        ({"environment": "staging"}, True, False, False),
        ({"environment": "development"}, True, True, False),
        ({"environment": "production", "detail": "standard"}, True, False, False),
        ({"environment": "production", "detail": "full"}, True, True, False),
        ({"environment": "development", "detail": "minimal"}, False, False, False),
        ({"debug_stack": True}, False, False, True),
        ({"environment": "development", "detail": "full", "debug_stack": True}, True, True, True),
    ],
)
@pytest.mark.anyio
async def test_the_environment_decides_how_much_is_disclosed(
    settings: Any, *, details: bool, cause: bool, stack: bool
) -> None:
    class Failing(BaseTool):
        @operation(read_only=True)
        async def fail(self) -> None:
            """Fail."""
            try:
                open("/home/somebody/file")  # noqa: ASYNC230, PTH123, SIM115 - it fails at once
            except OSError as error:
                raise DocumentNotFound(path="/home/somebody/file", details={"size": 5}) from error

    tool = Failing(runtime=quiet_runtime(**settings))
    wire = check_wellformed(await tool.fail(), tool.operations["fail"])["error"]
    assert ("details" in wire, "cause" in wire, "stack_trace" in wire) == (details, cause, stack)
    assert wire["suggestions"]
    if details:
        assert wire["details"]["size"] == 5
    if cause:
        assert wire["cause"]["name"] == "FileNotFoundError"
    if stack:
        assert "DocumentNotFound" in wire["stack_trace"]
    elif not details:
        assert "/home" not in str(wire)


def test_a_secret_that_was_sent_as_a_name_is_not_repeated() -> None:
    name = SECRETS[0]
    failure = explained(
        InvalidParameter.from_violations([Violation(path=name, reason="unexpected", message="is unknown")])
    )
    assert name not in str([failure.message, failure.violations, failure.suggestions])


@pytest.mark.parametrize(
    ("faults", "changes"),
    [
        ([("a", "missing", None)], "Add it"),
        ([("a", "missing", None), ("b", "unexpected", "a"), ("c", "type", None)], "Correct them"),
        ([("a", "unexpected", None)], "Correct it"),
        ([("", "type", None)], "Correct it"),
    ],
)
def test_the_guidance_says_what_to_do_with_each_parameter(faults: Any, changes: str) -> None:
    violations = [Violation(path=p, reason=r, message="is wrong", suggestion=s) for p, r, s in faults]
    failure = explained(InvalidParameter.from_violations(violations), ran=False)
    assert failure.message.endswith(f"{changes} and call `look` again.")


class Served(BaseTool):
    """A toolset that serves a folder."""

    roots = (Path("/srv/docs"),)

    @operation(read_only=True)
    async def look(self, item: str = "") -> str:
        """Return an item."""
        return item


def test_paths_in_the_folders_that_a_toolset_serves_are_disclosed() -> None:
    error = NotFound(message="There is no /srv/docs/a.md, only /srv/other/a.md.", suggestions=["/srv/docs/b.md"])
    faults = [Violation(path="item", reason="value", message="not in /srv/docs, but in /etc/shadow")]
    refused = ValidationFailed(message="The item is elsewhere.", violations=faults)
    served = Served(runtime=quiet_runtime())
    assert explained(error, tool=served).message.startswith(f"There is no /srv/docs/a.md, only {PATH}.")
    assert explained(error, tool=served).suggestions == ("/srv/docs/b.md",)
    assert explained(refused, tool=served).violations[0].message == f"not in /srv/docs, but in {PATH}"
    assert explained(error).message.startswith(f"There is no {PATH}, only {PATH}.")
    assert explained(error).suggestions == (PATH,)


def test_a_toolset_whose_folders_are_unknown_hides_every_path() -> None:
    class Broken(Served):
        @property
        def roots(self) -> Any:
            raise OSError

    call = Call(Broken(runtime=quiet_runtime()).operations["look"], {}, CallScope())
    failure = explain(NotFound(message="There is no /srv/docs/a.md."), call)
    assert failure.code == "NOT_FOUND"
    assert failure.message.startswith(f"There is no {PATH}.")


@pytest.mark.parametrize("name", ["text", "Text"])
def test_a_fault_deep_in_the_arguments_is_corrected(name: str) -> None:
    class Edit(BaseModel, extra="forbid"):
        text: str
        limit: int = 1

    class Editor(BaseTool):
        """Edits."""

        @operation(read_only=True)
        async def apply(self, edits: list[Edit]) -> int:
            """Apply edits."""
            return len(edits)

    tool = Editor(runtime=quiet_runtime())
    given = {"edits": [{"text": "a"}, {name: "b", "limit": "5"}]}
    with pytest.raises(InvalidParameter) as caught:
        tool.operations["apply"].arguments.validate(given)
    step = explained(caught.value, "apply", ran=False, tool=tool, **given).next_step
    expected = {"edits": [{"text": "a"}, {"text": "b", "limit": 5}]}
    assert step is not None
    assert step.arguments == expected


def test_what_a_person_must_do_is_said_with_the_error_id() -> None:
    for error in (PermissionDenied(), UnknownError()):
        failure = explained(error)
        assert failure.retry.when == "never"
        assert failure.error_id in failure.message


@pytest.mark.parametrize("error", [ApprovalRequired(), Unauthenticated("A person has to renew the access.")])
def test_the_person_is_named_once(error: ToolError) -> None:
    failure = explained(error)
    assert failure.message.count("person") == 1
    assert failure.error_id in failure.message


def test_foreign_text_is_bounded_and_on_one_line() -> None:
    failure = explained(NotFound(message="line\nline\u202e\x00" + "x" * 10_000, suggestions=["a\nb" * 5_000]))
    assert len(failure.message) < 1_200
    assert failure.message.isprintable()
    assert all(text.isprintable() and len(text) <= 2_000 for text in failure.suggestions)


@pytest.mark.parametrize(
    ("error", "name", "step", "mended"),
    [
        (UnknownError(), "sell", None, True),
        (UnknownError(), "look", {"tool": "prices"}, True),
        (StorageError("The disk is full."), "sell", None, True),
        (StorageError("The disk is full."), "look", {"tool": "prices"}, True),
        (Timeout(), "sell", None, False),
        (NotFound("No such item."), "sell", None, False),
        (NotFound("No such item."), "look", {"tool": "prices"}, False),
        (Unsupported("Not sold here."), "look", {"tool": "prices"}, False),
    ],
)
def test_beside_a_step_a_defect_is_told_with_who_fixes_it(
    error: ToolError, name: str, step: dict[str, Any] | None, *, mended: bool
) -> None:
    failure = explained(type(error)(message=error.message, next_step=step), name)
    assert failure.next_step is not None
    assert failure.is_for_person is mended
    assert ("has to" in failure.message and failure.error_id in failure.message) is mended
    assert ("has to" in failure.remedy) is mended
