"""What a person is asked for, what becomes of the answer, and what is never asked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, SecretStr

from failsoft import (
    AskPerson,
    BaseTool,
    ConfigurationError,
    NotFound,
    RecoveryManager,
    Reference,
    RepairArguments,
    Runtime,
    Settings,
    ToolResponse,
    operation,
)
from failsoft.testing import AnswerScript
from tests.doors import META_KEY, Answer, CallScope, Question, read_configuration
from tests.framework.recording import Recording, quiet_runtime

SHELVES = ["attic", "cellar", "cellars"]


def shelf(name: str) -> None:
    """Look a shelf up."""
    if name not in SHELVES:
        raise NotFound(f"No shelf {name}.", suggestions=[*SHELVES, "Ask the librarian."])


class Library(BaseTool):
    """Books."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.done: list[Any] = []

    @operation(recovery=[AskPerson(["title", "pages", "kind", "shelf"])])
    async def add(
        self,
        title: Annotated[str, Field(description="As on the cover", max_length=40)],
        pages: Annotated[int, Field(ge=1)],
        kind: Literal["novel", "poem"] = "novel",
        shelf: Annotated[str, Reference(shelf, kind="spelled")] = "attic",
    ) -> str:
        """Add a book."""
        self.done.append((title, pages, kind, shelf))
        return title

    @operation(confirm=True, recovery=[AskPerson(["title"])])
    async def delete(self, title: str) -> str:
        """Delete a book."""
        self.done.append(title)
        return title

    @operation(read_only=True, recovery=[AskPerson(["title"])])
    async def find(self, title: str) -> str:
        """Find a book."""
        if title != "Dune":
            raise NotFound(f'No book "{title}".', suggestions=["Dune", "Dunes"])
        return title

    @operation(recovery=[AskPerson(["title"])])
    async def lend(self, title: str) -> str:
        """Lend a book, or fail after something may have been done."""
        self.done.append(title)
        raise NotFound(f'No book "{title}".', suggestions=["Dune", "Dunes"])


def _asked(name: str, arguments: Any, *answers: Any, meta: Mapping[str, Any] | None = None) -> Any:
    script = AnswerScript(*answers or ("decline",))
    metrics = Recording()
    tool = Library(runtime=quiet_runtime(metrics=metrics))
    scope = CallScope(ask=script.ask if answers else None, meta=meta or {})

    async def run() -> ToolResponse[Any]:
        return await tool.operations[name].call(arguments, scope)

    return asyncio.run(run()), script, tool, metrics


def test_missing_arguments_are_asked_for_in_one_form() -> None:
    response, script, tool, metrics = _asked("add", {"shelf": "cellar"}, {"title": "Emma", "pages": 400})
    assert tool.done == [("Emma", 400, "novel", "cellar")]
    assert response.metadata.recovery.to_dict() == {
        "strategy": "ask_person",
        "message": "A person gave `title` and `pages`",
        "attempts": 1,
        "changed": {"title": "Emma", "pages": 400},
        "rule": "arguments",
    }
    (question,) = script.questions
    assert question.splitlines() == [
        "`add` needs `title` and `pages`.",
        'It does this: "Add a book."',
        "The other arguments of this call:",
        '- `shelf`: "cellar"',
    ]
    assert metrics.of("recovery") == [("ask_person", "recovered")]
    assert metrics.of("finished") == ["recovered"]


@pytest.mark.parametrize(
    ("arguments", "answer", "done"),
    [
        ({"title": "Emma", "pages": 4, "kind": "poen"}, {"kind": "poem"}, ("Emma", 4, "poem", "attic")),
        ({"title": "Emma", "pages": 4, "shelf": "celler"}, {"shelf": "cellar"}, ("Emma", 4, "novel", "cellar")),
    ],
)
def test_a_value_is_chosen_among_what_is_listed_or_found(arguments: Any, answer: Any, done: Any) -> None:
    response, script, tool, _ = _asked("add", arguments, answer)
    assert response.success
    assert (tool.done, len(script.questions)) == ([done], 1)


def test_the_candidates_of_a_handler_are_asked_for_where_it_may_run_again() -> None:
    response, _, _, _ = _asked("find", {"title": "Dunee"}, {"title": "Dune"})
    assert (response.data, response.metadata.recovery.changed) == ("Dune", {"title": "Dune"})
    response, script, tool, _ = _asked("lend", {"title": "Dunee"}, {"title": "Dune"})
    assert (response.error.code, script.questions, tool.done) == ("NOT_FOUND", [], ["Dunee"])


@pytest.mark.parametrize("name", ["add", "find"])
@pytest.mark.parametrize(
    "answers",
    [
        (),
        ("decline",),
        ("cancel",),
        ("unanswered",),
        ({},),
        ({"title": "x" * 41, "pages": 3, "shelf": "none"},),
        ({"title": ["Dune"], "pages": "many"},),
        ({"title": None, "pages": None},),
    ],
    ids=str,
)
def test_without_a_usable_answer_the_failure_stays_as_it_was(name: str, answers: Any) -> None:
    arguments = {"add": {}, "find": {"title": "Dunee"}}[name]
    plain, _, _, _ = _asked(name, arguments)
    response, script, tool, metrics = _asked(name, arguments, *answers)
    assert (("ask_person", "failed") in metrics.of("recovery")) is bool(answers)
    ids = {"error_id": None}
    assert response.encode().structured["error"] | ids == plain.encode().structured["error"] | ids
    assert (tool.done, len(script.questions)) == ([], len(answers))


@pytest.mark.parametrize("arguments", [{"pages": 0}, {"titel": "Emma", "pages": 4}, {"title": 5, "pages": 4}])
def test_nobody_is_asked_where_an_answer_would_not_make_the_call_valid(arguments: Any) -> None:
    response, script, _, _ = _asked("add", arguments, {"title": "Emma"})
    assert (response.error.code, script.questions) == ("INVALID_PARAM", [])


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"title": "Emma", "confirm": True}, None),
        ({"title": "Emma", "confirm": False}, "INVALID_PARAM"),
        ({"title": "Emma"}, "INVALID_PARAM"),
    ],
)
def test_one_form_asks_for_arguments_and_consent(answer: Any, code: str | None) -> None:
    response, script, tool, _ = _asked("delete", {}, answer)
    assert len(script.questions) == 1
    assert (response.error and response.error.code, tool.done) == (code, [] if code else ["Emma"])


def test_an_answer_and_its_call_have_one_key() -> None:
    meta = {META_KEY: "once"}
    response, _, tool, _ = _asked("add", {"pages": 4}, {"title": "Emma"}, meta=meta)
    assert response.data == "Emma"
    script = AnswerScript({"title": "Emma"})

    async def again() -> ToolResponse[Any]:
        return await tool.operations["add"].call({"pages": 4}, CallScope(ask=script.ask, meta=meta))

    assert asyncio.run(again()).data == "Emma"
    assert len(tool.done) == 1


@pytest.mark.parametrize("names", ["title", [], [5], None, ["password"], ["api_key"]])
def test_secrets_and_what_is_no_list_of_names_are_refused(names: Any) -> None:
    with pytest.raises(TypeError, match="AskPerson"):
        AskPerson(names)


def test_secrets_are_refused_by_their_type_too() -> None:
    class Vault(BaseTool):
        @operation(recovery=[AskPerson(["phrase"])])
        async def open(self, phrase: SecretStr) -> None:
            """Open it."""

    with pytest.raises(TypeError, match="never asks for secrets, and 'phrase' of 'open' is one"):
        Vault(runtime=quiet_runtime())


def test_a_parameter_that_cannot_be_asked_for_is_refused() -> None:
    class Wrong(BaseTool):
        @operation(recovery=[AskPerson(["titel"])])
        async def one(self, title: str) -> None:
            """One."""

    class Lists(BaseTool):
        @operation(recovery=[AskPerson(["titles"])])
        async def two(self, titles: list[str]) -> None:
            """Two."""

    with pytest.raises(ConfigurationError, match="'titel', which 'one' does not have; did you mean 'title'"):
        Wrong(runtime=quiet_runtime())
    with pytest.raises(ConfigurationError, match="cannot ask for 'titles' of 'two'"):
        Lists(runtime=quiet_runtime())


def test_a_candidate_that_cannot_be_shown_as_it_is_is_none() -> None:
    class Files(BaseTool):
        @operation(read_only=True, recovery=[AskPerson(["path"])])
        async def read(self, path: str) -> str:
            """Read."""
            raise NotFound(f'No file "{path}".', suggestions=["a.md", "a\u202e.md", "a\x1b[2J.md"])

    questions: list[Question] = []

    async def ask(question: Question) -> Answer:
        questions.append(question)
        return Answer("decline")

    asyncio.run(Files(runtime=quiet_runtime()).operations["read"].call({"path": "aa.md"}, CallScope(ask=ask)))
    assert questions[0].schema["properties"]["path"]["enum"] == ["a.md"]


def test_an_argument_that_is_named_as_the_consent_is_not_asked_for() -> None:
    class Going(BaseTool):
        @operation(confirm=True, recovery=[AskPerson(["confirm"])])
        async def go(self, confirm: bool) -> bool:
            """Go."""
            return confirm

    with pytest.raises(ConfigurationError, match="'confirm' of 'go'"):
        Going(runtime=quiet_runtime())


def test_a_manager_asks_for_all_its_operations_after_repairs() -> None:
    class Mixed(BaseTool):
        @operation
        async def one(self, title: str, pages: int = 1) -> str:
            """One."""
            return f"{title} {pages}"

        @operation
        async def two(self) -> str:
            """Two."""
            return "two"

    manager, script = RecoveryManager(), AnswerScript({"title": "Emma"})
    manager.add(AskPerson(["title"]), RepairArguments())
    tool = Mixed(runtime=quiet_runtime(recovery=manager))
    with script.answers():
        assert asyncio.run(tool.one(pages=2)).data == "Emma 2"
    assert tool.describe()["one"][:4] == ["observe", "ask_person", "repair_arguments", "validate"]
    assert "ask_person" not in tool.describe()["two"]


class Records(BaseTool):
    """An operation without strategies of its own."""

    name = "records"

    @operation
    async def one(self, title: str, password: str = "") -> str:
        """One."""
        return title


def test_a_recovery_file_can_add_it() -> None:
    text = 'tools.records.operations.one.ask_person.ask = ["title"]'
    tool = Records(runtime=Runtime(settings=Settings(recovery=text), metrics=Recording(), recovery=RecoveryManager()))
    with AnswerScript({"title": "Emma"}).answers():
        assert asyncio.run(tool.one()).data == "Emma"


@pytest.mark.parametrize("options", ['["password"]', "[]", '"title"'])
def test_a_recovery_file_that_asks_for_a_secret_is_refused(options: str) -> None:
    with pytest.raises(ConfigurationError, match="ask_person"):
        read_configuration(None, f"tools.records.ask_person.ask = {options}")
