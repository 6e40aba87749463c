"""Tracebacks for a tool's author: the author's frames first, failsoft's folded, secrets redacted."""

from __future__ import annotations

import inspect
import itertools
import linecache
import site
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal, TypeAlias

from failsoft.framework.safe.secrets import redact_text
from failsoft.framework.text import printable, type_name

Owner: TypeAlias = Literal["author", "failsoft", "library"]
"""Whose code a frame runs: that of the tool, ours, or that of the standard library and installed packages."""
_PACKAGE = Path(__file__).resolve().parents[2]
_TOOLSETS = _PACKAGE / "tools"
_FRAMES_AT_MOST = 30
_RUN_AT_MOST = 5
"""Consecutive frames of libraries that are shown; of longer runs the first and the last two are."""
_STACK_AT_MOST = 20_000
"""Characters of a stack that are kept, from its end."""


# Read past any property of the exception's own class that would answer for it.
_traceback_of: Callable[[BaseException], TracebackType | None] = vars(BaseException)["__traceback__"].__get__
_cause_of: Callable[[BaseException], BaseException | None] = vars(BaseException)["__cause__"].__get__


def stack_of(error: BaseException) -> str:
    """Return the traceback of an exception and its causes, redacted and printable, 20,000 characters at most.

    A typed error that failsoft made of an exception is left out: the exception itself says more. The number of frames
    is limited, because formatting the thousand frames of a `RecursionError` would take the event loop's time. Never
    raises, whatever the exception does when it is looked at.
    """
    try:
        return _stack_of(original(error))
    except BaseException:  # noqa: BLE001 - an exception may raise anything in every attribute that is read
        return f"{type_name(type(error))}: its stack cannot be read"


def _stack_of(shown: BaseException) -> str:
    summary = traceback.TracebackException(type(shown), shown, shown.__traceback__, limit=0, compact=True)
    _fold(summary, shown)
    text = redact_text("".join(summary.format())[-_STACK_AT_MOST:])
    return "\n".join(map(printable, text.split("\n")))


def author_line(error: BaseException) -> str:
    """Return `file:line in function` of the author's innermost frame; empty if no such frame is involved."""
    link = author_link(error)
    return "" if link is None else _place(link.tb_frame, link.tb_lineno)


def author_place(error: BaseException) -> tuple[str, str] | None:
    """Return `file:line in function` and the qualified name of the function of that frame; None if there is none."""
    link = author_link(error)
    return None if link is None else (_place(link.tb_frame, link.tb_lineno), link.tb_frame.f_code.co_qualname)


def author_link(error: BaseException) -> TracebackType | None:
    """Return the author's innermost entry of a traceback; None if no such frame is involved."""
    found = None
    for link in _links(original(error).__traceback__):
        if _owner(_file(link)) == "author":
            found = link
    return found


def calling_line() -> str:
    """Return `file:line in function` of the author's code that is calling failsoft; empty if there is none."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - `inspect.currentframe` is the same with a longer name
    while frame is not None and _owner(frame.f_code.co_filename) != "author":
        frame = frame.f_back
    return "" if frame is None else _place(frame, frame.f_lineno)


def declaring_line(declared: Any) -> str:
    """Return `file:line in function` of where a function is declared, or `file:line` of a class; empty if unknown."""
    if isinstance(declared, type):
        try:
            return f"{inspect.getsourcefile(declared)}:{inspect.getsourcelines(declared)[1]}"
        except (OSError, TypeError):
            return ""
    code = getattr(inspect.unwrap(declared), "__code__", None)
    return "" if code is None else f"{code.co_filename}:{code.co_firstlineno} in {code.co_name}"


def _place(frame: FrameType, line: int) -> str:
    return f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"


def original(error: BaseException) -> BaseException:
    """Return the exception that a typed error was made of, unless the author raised the typed error."""
    seen: set[int] = set()
    while error.__cause__ is not None and all(
        _owner(_file(link)) == "failsoft" for link in _links(error.__traceback__)
    ):
        seen.add(id(error))
        if id(error.__cause__) in seen:  # the causes lead in a circle
            break
        error = error.__cause__
    return error


def _fold(summary: Any, error: BaseException) -> None:
    """Give an unformatted summary, and those of its causes and members, the frames that are shown."""
    summary.stack = _Folded(_frames(error.__traceback__))
    pairs = [(summary.__cause__, error.__cause__), (summary.__context__, error.__context__)]
    pairs += zip(summary.exceptions or (), getattr(error, "exceptions", ()), strict=False)
    for inner, exception in pairs:
        if inner is not None and exception is not None:
            _fold(inner, exception)


class _Folded(traceback.StackSummary):
    """Frames that are formatted as Python does it, with a line in place of each run that is folded."""

    def format(self, **options: Any) -> list[str]:
        lines: list[str] = []
        for folded, frames in itertools.groupby(self, key=lambda frame: isinstance(frame, _Fold)):
            if folded:
                lines += [str(frame) for frame in frames]
            else:
                lines += traceback.StackSummary.from_list(list(frames)).format(**options)
        return lines


class _Fold(traceback.FrameSummary):
    """A run of frames that are counted instead of shown."""

    def __init__(self, count: int, owner: str) -> None:
        super().__init__("", 0, "", lookup_line=False, line="")
        self._text = f"  ... {count} frame{'' if count == 1 else 's'} of {owner}\n"

    def __str__(self) -> str:
        return self._text


def _frames(link: TracebackType | None) -> Iterator[traceback.FrameSummary]:
    """Yield the frames and folds of one traceback; ours alone are shown if no others are there."""
    links = list(_links(link))
    runs = [(owner, list(run)) for owner, run in itertools.groupby(links, key=lambda item: _owner(_file(item)))]
    if all(owner == "failsoft" for owner, _ in runs):
        yield from map(_summary, links[-_FRAMES_AT_MOST:])
        return
    for owner, run in runs[1:] if runs[0][0] == "failsoft" else runs:
        if owner == "failsoft":
            yield _Fold(len(run), owner)
        elif owner == "library" and len(run) > _RUN_AT_MOST:
            yield _summary(run[0])
            yield _Fold(len(run) - 3, "libraries")
            yield from map(_summary, run[-2:])
        elif len(run) > _FRAMES_AT_MOST:
            half = _FRAMES_AT_MOST // 2
            yield from map(_summary, run[:half])
            yield _Fold(len(run) - 2 * half, "the same code")
            yield from map(_summary, run[-half:])
        else:
            yield from map(_summary, run)


def forget_earlier_calls(raised: BaseException) -> None:
    """Truncate an exception's traceback, and its cause's, to the current call.

    If an author raises one instance repeatedly, Python prepends the frames of each raise and keeps the objects of
    earlier calls alive. The first frame is the one that caught it last; another frame of that code is an older call.
    """
    for exception in (raised, _cause_of(raised)):
        link = None if exception is None else _traceback_of(exception)
        outermost = None if link is None else link.tb_frame.f_code
        while link is not None and (inner := link.tb_next) is not None:
            if inner.tb_frame.f_code is outermost:
                link.tb_next = None
                break
            link = inner


def _links(link: TracebackType | None) -> Iterator[TracebackType]:
    while link is not None:
        yield link
        link = link.tb_next


def _file(link: TracebackType) -> str:
    return link.tb_frame.f_code.co_filename


def _summary(link: TracebackType) -> traceback.FrameSummary:
    code = link.tb_frame.f_code
    linecache.checkcache(code.co_filename)
    place = next(itertools.islice(code.co_positions(), link.tb_lasti // 2, None), (None, None, None, None))
    return traceback.FrameSummary(
        code.co_filename, link.tb_lineno, code.co_name, end_lineno=place[1], colno=place[2], end_colno=place[3]
    )


@lru_cache(maxsize=1_000)
def _owner(file: str) -> Owner:
    if file.startswith("<frozen "):
        return "library"
    path = Path(file)
    if path.is_relative_to(_PACKAGE):
        return "author" if path.is_relative_to(_TOOLSETS) else "failsoft"
    return "library" if any(path.is_relative_to(folder) for folder in _library_folders()) else "author"


@lru_cache(maxsize=1)
def _library_folders() -> tuple[Path, ...]:
    named = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders = [*named, *site.getsitepackages(), site.getusersitepackages()]
    return tuple(dict.fromkeys(Path(folder) for folder in folders if folder and folder != sys.prefix))
