"""The promotion level of a document, written as one line of its front matter, by one atomic replacement."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from failsoft.framework.call import CallContext
from failsoft.framework.errors import DeadlineExceeded, Effect, NextStep, Overloaded, PermissionDenied, ToolError
from failsoft.framework.errors.violations import Violation
from failsoft.framework.normalize import normalize
from failsoft.framework.threads import is_given_up
from failsoft.tools.docs.documents.document import decoded
from failsoft.tools.docs.documents.front_matter import FrontMatter, read_front_matter
from failsoft.tools.docs.errors import ExternalDocsNotPromotable, SchemaValidationFailed
from failsoft.tools.docs.project import LEVEL_KEYS, Project, level_of
from failsoft.tools.docs.reading import AskedDocument
from failsoft.tools.docs.signatures import PromotedDocument
from failsoft.tools.files import FaultKind, FaultTable, FileFault, Files
from failsoft.tools.files.faults import HashMismatch

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_WORDS_OF_YAML = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_TOML_VALUE = r"[ \t]*=[ \t]*)(\"[^\"\r\n]*\"|'[^'\r\n]*')"


def with_level(path: str, text: str, level: str, levels: Sequence[str]) -> str:
    """Return the text of a document with this level in its front matter; every other character stays as it is.

    Args:
        path: The document, for messages.
        text: All its text.
        level: The level to write.
        levels: All levels: a `level` of another kind in the front matter is left alone.

    Raises:
        SCHEMA_VALIDATION_FAILED: The front matter is broken, or in a form that a line cannot be written into.
    """
    front = read_front_matter(text)
    if front.warning:
        raise _refused(path, front.warning, front.fault_line)
    key = next((name for name in LEVEL_KEYS if _is_level(front.data.get(name), levels)), None)
    if key is None and LEVEL_KEYS[0] in front.data:
        key = LEVEL_KEYS[0]
    write: Callable[..., str | None] = {"yaml": _in_yaml, "toml": _in_toml, None: _as_new_block}[front.kind]
    written = write(text, front, key, level)
    if written is None or not _is_only_change(front, written, key or LEVEL_KEYS[0], level):
        raise _refused(path, "The front matter has a form that the level cannot be written into as a line.", 1)
    return written


def _is_level(value: Any, levels: Sequence[str]) -> bool:
    return isinstance(value, str) and value in levels


def _as_new_block(text: str, _front: FrontMatter, _key: str | None, level: str) -> str:
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    end = _newline(text)
    return f"{mark}---{end}{LEVEL_KEYS[0]}: {_yaml_text(level)}{end}---{end}{text.removeprefix(mark)}"


def _in_yaml(text: str, front: FrontMatter, key: str | None, level: str) -> str | None:
    import yaml  # noqa: PLC0415 - as in front_matter.py

    block = text[front.start : front.end]
    root: Any = yaml.compose(block, yaml.SafeLoader)
    if root is not None and (not isinstance(root, yaml.MappingNode) or root.flow_style):
        return None
    if key is None or root is None:
        indent = " " * (root.start_mark.column if root is not None else 0)
        line = f"{indent}{LEVEL_KEYS[0]}: {_yaml_text(level)}{_newline(text)}"
        return text[: front.end] + line + text[front.end :]
    name, value = next(pair for pair in reversed(root.value) if pair[0].value == key)
    begin, end = front.start + value.start_mark.index, front.start + value.end_mark.index
    if value.start_mark.line != value.end_mark.line or value.start_mark.line != name.end_mark.line:
        return None
    space = "" if begin > 0 and text[begin - 1] in " \t" else " "
    return text[:begin] + space + _yaml_text(level) + text[end:]


def _in_toml(text: str, front: FrontMatter, key: str | None, level: str) -> str | None:
    written = json.dumps(level, ensure_ascii=False)
    if key is None:
        line = f"{LEVEL_KEYS[0]} = {written}{_newline(text)}"
        return text[: front.start] + line + text[front.start :]
    pattern = re.compile(rf"^([ \t]*{key}{_TOML_VALUE}", re.MULTILINE)
    match = pattern.search(text, front.start, front.end)
    return None if match is None else text[: match.start(2)] + written + text[match.end(2) :]


def _is_only_change(before: FrontMatter, text: str, key: str, level: str) -> bool:
    after = read_front_matter(text)
    return after.body == before.body and after.data == {**before.data, key: level}


def _yaml_text(level: str) -> str:
    is_plain = _PLAIN.fullmatch(level) is not None and level.lower() not in _WORDS_OF_YAML
    return level if is_plain else json.dumps(level, ensure_ascii=False)


def _newline(text: str) -> str:
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _refused(path: str, message: str, line: int) -> SchemaValidationFailed:
    return SchemaValidationFailed.from_faults(path, [Violation(path="", reason="format", message=message, line=line)])


def promote(
    call: CallContext,
    project: Project,
    item: AskedDocument,
    level: str,
    expected_hash: str | None,
    *,
    state_folder: Path | None,
) -> PromotedDocument:
    """Write the level into the document's front matter, and return what became of it.

    Raises:
        EXTERNAL_DOCS_NOT_PROMOTABLE: It is a document of an external folder.
        HASH_MISMATCH: It is not the document of `expected_hash`, or was changed meanwhile.
        SCHEMA_VALIDATION_FAILED: Its front matter is broken.
        STORAGE_ERROR: The disk is full or read-only.
        PERMISSION_DENIED: The server may not write there.
    """
    if project.external_folder(item.path) is not None:
        raise ExternalDocsNotPromotable(path=item.path)
    path = "/".join(item.names)
    item.root.read(item.names)  # refuses what is no document
    files = Files(item.root.roots(), state_folder=state_folder)
    try:
        with files.transaction([path], give_up=is_given_up) as work:
            if project.is_external(work.real_path(path)):
                raise ExternalDocsNotPromotable(path=item.path)
            data = work.read(path, bytes_at_most=item.root.document_bytes_at_most).data
            before = hashlib.sha256(data).hexdigest()
            if expected_hash is not None and before != expected_hash:
                raise _changed(item.path)
            text = decoded(item.path, data)
            previous = level_of(read_front_matter(text).data, project.levels)
            written = with_level(item.path, text, level, project.levels).encode()
            if written != data:
                work.replace(path, written)
                call.read_only = False
                (done,) = work.commit()
                if done.warning is not None:
                    call.warn(done.warning)
    except FileFault as fault:
        raise _ERRORS.to_error(fault, item.path) from fault
    if written != data:
        with suppress(ToolError):  # else the next walk of the tree finds the change
            project.index.refresh_paths([item.path])
    return PromotedDocument(
        path=item.path,
        level=level,
        previous_level=previous,
        sha256=hashlib.sha256(written).hexdigest(),
        changed=written != data,
    )


def _changed(path: str, effect: Effect = "none") -> HashMismatch:
    return HashMismatch.of(path, next_step=NextStep("get_documentation", {"path": path}), effect=effect)


def _outside(_: FileFault, path: str) -> ToolError:
    return PermissionDenied(message=f'"{path}" leads out of the documentation root.')


_CHANGED: tuple[FaultKind, ...] = (
    *("changed", "missing", "vanished", "not_a_folder", "not_regular", "too_large", "link_loop", "replaced"),
)
"""What a document that was just read can have become."""
_ERRORS: FaultTable[str] = FaultTable(
    {
        **dict.fromkeys(_CHANGED, lambda fault, path: _changed(path, fault.effect)),
        "given_up": lambda _, __: DeadlineExceeded(message="The call was given up before anything was written."),
        "outside": _outside,
        "several_names": _outside,
        "locked": lambda _, path: Overloaded(message=f'"{path}" is in use by another call.', retry_after_seconds=1.0),
        "denied": lambda _, path: PermissionDenied(message=f'The server may not write "{path}".'),
    },
    otherwise=lambda fault, _: normalize(OSError(fault.errno or errno.EIO, os.strerror(fault.errno or errno.EIO))),
)
