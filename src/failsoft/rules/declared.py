"""The rules for declarations and for the texts of failures, which `failsoft lint` checks without running a handler."""

from __future__ import annotations

from typing import Any

from failsoft.rules.rule import Rule, Severity


def _static(number: int, name: str, severity: Severity, summary: str, **texts: Any) -> Rule:
    return Rule(f"FS{number}", name, "static", severity, summary, **texts)


_OF_TOOLS = (
    _static(
        101,
        "title",
        "note",
        "A tool has a title.",
        why="Clients show it to people, who approve calls by it; without one they show the name of the function.",
        bad="@operation(read_only=True)\nasync def get_book(self, isbn: str) -> Book: ...",
        good='@operation(read_only=True, title="Look up a book")\nasync def get_book(self, isbn: str) -> Book: ...',
    ),
    _static(
        102,
        "description",
        "warning",
        "A tool has a description of at most 60 words, without sections of a Python docstring.",
        why="It is all that a model knows when it chooses a tool, and it is part of every conversation.",
        bad='"""Get a book.\n\nArgs:\n    isbn: the isbn\n\nReturns:\n    Book: the book\n"""',
        good='"""Return the title, the authors and the number of copies of a book."""',
    ),
    _static(
        103,
        "parameter",
        "warning",
        "Every parameter has a description or lists its values.",
        why="A name alone does not say the unit, the format or where a value comes from, so a model guesses.",
        bad="async def search(self, since: str) -> list[str]: ...",
        good='async def search(self, since: Annotated[str, Field(description="A date, 2026-01-31")]) -> list[str]: ...',
    ),
    _static(
        104,
        "annotations",
        "note",
        "A tool says whether it destroys something and whether it reaches beyond the server's own data.",
        why="Clients assume the worst of a tool that does not say, and ask a person before each call.",
        bad="@operation()\nasync def add_note(self, text: str) -> None: ...",
        good="@operation(destructive=False, open_world=False)\nasync def add_note(self, text: str) -> None: ...",
    ),
    _static(
        105,
        "instructions",
        "note",
        "A toolset describes itself, without sections of a Python docstring.",
        why="Its docstring is its part of the server's instructions, which say when to use its tools at all.",
        bad="class Library(BaseTool):\n    name = 'library'",
        good='class Library(BaseTool):\n    """Books of the city library, with the copies that are on the shelf."""',
    ),
    _static(
        106,
        "schema",
        "error",
        "An input schema describes an object with its parameters.",
        why="Clients refuse tools with another schema, some of them the whole list.",
        bad='"inputSchema": {"type": "array"}',
        good='"inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}}',
    ),
    _static(
        107,
        "annotation",
        "error",
        "Every parameter of an operation has a type annotation.",
        why="Without one the parameter has no schema, so importing the module fails.",
        bad="async def get_book(self, title): ...",
        good="async def get_book(self, title: str) -> Book: ...",
    ),
    _static(
        108,
        "effects",
        "error",
        "A handler that marks an effect declares it with `effects=True`.",
        why="An effect that is not declared is refused before the work: the record of the call has to exist by then.",
        bad="@operation()\nasync def pay(self, order: str, call: CallContext) -> str:\n"
        '    return await call.effect("charge", run=charge, probe=find)',
        good="@operation(effects=True)\nasync def pay(self, order: str, call: CallContext) -> str:\n"
        '    return await call.effect("charge", run=charge, probe=find)',
    ),
    _static(
        109,
        "confirm",
        "warning",
        "An operation that declares `confirm` asks for consent.",
        why="`confirm='when destructive'` never asks for an operation that is declared not to be destructive.",
        bad='@operation(confirm="when destructive", destructive=False)',
        good="@operation(confirm=True, destructive=False)",
    ),
    _static(
        110,
        "verify-with",
        "warning",
        "The operation that `verify_with` names needs only arguments that the call has.",
        why="After a failure of unknown effect it is the next step, whose arguments can only come from the call.",
        bad='@operation(verify_with="get_order")   # get_order(order_id)\nasync def place(self, item: str) -> str: ...',
        good='@operation(verify_with="find_order")   # find_order(item)\nasync def place(self, item: str) -> str: ...',
    ),
)

_OF_TEXTS = (
    _static(
        121,
        "cause",
        "warning",
        "A failure says what failed.",
        why="'Something went wrong' leaves nothing to correct, so the same call is sent again.",
        bad='raise NotFound("Error")',
        good='raise NotFound(f"There is no shelf {number}.")',
    ),
    _static(
        122,
        "length",
        "note",
        "The message of a failure has at most 1,200 characters.",
        why="Some clients truncate longer texts, and the end is what says what to do.",
        bad='raise NotFound(f"There is no book {title}. There are: {all_titles}")',
        good="raise BookNotFound(title=title, suggestions=closest(title, all_titles))",
    ),
    _static(
        123,
        "url",
        "warning",
        "The text of a failure names no URL.",
        why="A caller cannot open it; addresses belong to `operator_hint`, which is logged.",
        bad='raise NotFound("No such page. See https://wiki.example.org/pages")',
        good='raise NotFound("No such page.", operator_hint="https://wiki.example.org/pages")',
    ),
    _static(
        124,
        "stack",
        "error",
        "The text of a failure holds no stack trace.",
        why="A caller can do nothing with it; the log has it under the error id.",
        bad="raise StorageError(traceback.format_exc())",
        good='raise StorageError("The index cannot be read.") from error',
    ),
    _static(
        125,
        "path",
        "warning",
        "The text of a failure names no path of the host.",
        why="It tells every caller how the host is laid out, and no tool accepts it.",
        bad='raise NotFound("There is no file /home/deploy/app/notes.txt.")',
        good='raise NotFound("There is no note `notes.txt`.")',
    ),
    _static(
        126,
        "command",
        "warning",
        "The text of a failure names no command of a shell.",
        why="A model has no shell on the server, or it has one somewhere else and runs it there.",
        bad='raise Unavailable("The index is missing: run sudo reindex")',
        good='raise Unavailable("The index is missing.", operator_hint="sudo reindex")',
    ),
    _static(
        127,
        "variable",
        "warning",
        "The text of a failure names no environment variable.",
        why="Only the operator can set it: name it in `operator_hint`, which is logged.",
        bad='raise Unsupported("Set SEARCH_KEY=... to search.")',
        good='raise Unsupported("This server cannot search.", operator_hint="set SEARCH_KEY")',
    ),
    _static(
        128,
        "control",
        "warning",
        "The text of a failure holds no control characters and no invisible ones.",
        why="They forge lines in a terminal or a log, and hide instructions from a person who reads it.",
        bad='raise NotFound(f"There is no book\\n{title}")',
        good="raise BookNotFound(title=title)",
    ),
    _static(
        129,
        "next-step",
        "error",
        "A next step names a tool of the server, with arguments that it accepts, and does not repeat a change.",
        why="It is followed to the letter: a step that fails costs a call, a repeated change is done twice.",
        bad='raise NotFound("No such book.", next_step={"tool": "list_all", "arguments": {}})',
        good='raise NotFound("No such book.", next_step={"tool": "list_books", "arguments": {}})',
    ),
    _static(
        130,
        "wait",
        "warning",
        "Where waiting helps, the message says which tool to call again, and in how many seconds.",
        why="A model that is told to wait gives up; one that is told 'call it again in 2 seconds' goes on.",
        bad="Too many calls. Try again later.",
        good="Too many calls. Call `search` again in 3 seconds.",
    ),
    _static(
        131,
        "way-out",
        "warning",
        "Where a corrected call helps, the message names the tool to call.",
        why="Models often report a list of faults to the user instead of correcting the call.",
        bad="`query` is not a word.",
        good="`query` is not a word. Correct `query` and call `search` again.",
    ),
    _static(
        132,
        "who",
        "warning",
        "Where no call helps, the message says who has to act, with the error id.",
        why="A model otherwise tries every other tool; with the id a person finds the failure in the log.",
        bad="The tool failed unexpectedly.",
        good="The tool failed unexpectedly. Its operator can look up the error id 4f2a9c1e55d0b7a3.",
    ),
)

DECLARED: tuple[Rule, ...] = (*_OF_TOOLS, *_OF_TEXTS)
