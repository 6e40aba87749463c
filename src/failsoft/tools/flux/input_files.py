"""Files that a caller names below the root: read, or written once, and their errors."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Self, cast

from pydantic import Field
from typing_extensions import TypedDict

from failsoft.framework.arguments.marks import Reference
from failsoft.framework.call.call import Call
from failsoft.framework.errors import InvalidArgument, InvalidParameter, NotFound, Public, StorageError, Words
from failsoft.framework.errors.violations import Violation
from failsoft.framework.text import bounded, quoted
from failsoft.tools.files import FileFault, Files, open_roots, similar_files
from failsoft.tools.files.reading import read

BYTES_AT_MOST = 64_000_000
"""Of a file, unpacked: several times the size of the largest published models."""
_PATH_AT_MOST = 300
_NAMES_TRIED = 100
_TAKEN = "there is a file with another content"

OutputPath = Annotated[
    str | None,
    Reference(kind="spelled"),
    Field(
        min_length=1,
        max_length=4_096,
        description="New file below {root} for the whole result; the answer then has its size and SHA-256 only",
    ),
]


class WrittenResult(TypedDict, total=False):
    """The file with a whole result, where one was asked for: its size, and the SHA-256 of its bytes."""

    path: str
    size_bytes: int
    sha256: str


async def write_result(call: Call, files: InputFiles, path: str, text: str) -> WrittenResult:
    """Write a result to a new file, as an effect of the call; a name that ends in `.gz` is compressed.

    Raises: as `InputFiles.write`.
    """

    def write() -> WrittenResult:
        data = text.encode()
        return files.write(path, gzip.compress(data, mtime=0) if path.casefold().endswith(".gz") else data)

    return cast("WrittenResult", await call.effect("write", write))


class InputFiles:
    """The files that callers may read and write.

    Args:
        root: Their folder; the current one if left out.

    Raises:
        CONFIG_ERROR: The folder does not exist.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._roots = open_roots(root, "flux", relative=True)
        self.folder = Path(self._roots.folders[0])

    def read(self, path: str, *, otherwise: str = "") -> bytes:
        """Return the bytes of a file; a name that ends in `.gz` is unpacked.

        Args:
            path: The file, as the caller wrote it.
            otherwise: What else the caller can do if no file is spelled like it.

        Raises:
            INPUT_FILE_NOT_FOUND: There is no such file below the root.
            INVALID_INPUT_FILE: It is too large, or not a valid gzip file.
        """
        try:
            with self._roots.resolve(path) as place:
                data = read(place, bytes_at_most=BYTES_AT_MOST, several_names=False).data
        except FileFault as fault:
            if fault.kind == "too_large":
                raise _too_large(path) from fault
            raise self._not_found(path, fault, otherwise) from fault
        return _unpacked(path, data) if path.casefold().endswith(".gz") else data

    def require_writable(self, path: str, endings: Sequence[str]) -> None:
        """Refuse a path that no result can be written to, before it is computed.

        Args:
            path: The file, as the caller wrote it.
            endings: What its name may end in; `.gz` may follow.

        Raises:
            INVALID_PARAM: It ends in something else, lies outside the root, in no folder, or is a folder.
        """
        if not path.casefold().removesuffix(".gz").endswith(tuple(endings)):
            why = f"its name does not end in {' or '.join(endings)}"
            raise _unusable(why, suggestion=f"{path}{endings[0]}")
        try:
            with self._roots.resolve(path) as place:
                facts = place.facts()
                if facts is not None:
                    place.require_regular(facts)
        except FileFault as fault:
            raise _unusable(_reason(fault)) from fault

    def write(self, path: str, data: bytes) -> WrittenResult:
        """Write a new file in one step; one that has this content already is left as it is.

        Args:
            path: The file, as the caller wrote it.
            data: Its content.

        Raises:
            INVALID_PARAM: There is a file with another content, or no file can be written there.
            STORAGE_ERROR: The disk is full, or reports an error.
        """
        try:
            with Files(self._roots, several_names=False).transaction([path]) as work:
                before: bytes | None
                try:
                    before = work.read(path, bytes_at_most=len(data)).data
                except FileFault as fault:
                    if fault.kind not in {"missing", "too_large"}:
                        raise
                    before = None if fault.kind == "missing" else b""
                if before is not None and before != data:
                    raise _unusable(_TAKEN, suggestion=self._free(path))
                if before is None:
                    work.create(path, data)
                    work.commit()
        except FileFault as fault:
            if fault.kind == "exists":
                raise _unusable(_TAKEN, suggestion=self._free(path)) from fault
            if fault.errno is None or fault.kind in {"denied", "not_a_folder", "missing", "name_too_long"}:
                raise _unusable(_reason(fault)) from fault
            raise StorageError(effect=fault.effect, operator_hint=str(fault)) from fault
        return {"path": path, "size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def _free(self, path: str) -> str | None:
        """Return a path beside this one that no file has."""
        folder, slash, name = path.rpartition("/")
        stem, dot, ending = name.partition(".")
        for number in range(2, _NAMES_TRIED):
            other = f"{folder}{slash}{stem}-{number}{dot}{ending}"
            with suppress(FileFault), self._roots.resolve(other) as place:  # the name may be too long
                if place.facts() is None:
                    return other
        return None

    def _not_found(self, path: str, fault: FileFault, otherwise: str) -> InputFileNotFound:
        closest = similar_files(self._roots, path)
        shown = bounded(path, _PATH_AT_MOST)
        error = InputFileNotFound(path=shown, reason=_reason(fault), suggestions=closest, effect="none")
        if otherwise and not closest:
            error.message = f"{error.message} {otherwise}"
            error.args = (error.message,)
        return error


def _unusable(why: str, *, suggestion: str | None = None) -> InvalidParameter:
    violation = Violation(path="path", reason="value", message=why, expected="a new file", suggestion=suggestion)
    error = InvalidParameter.from_violations([violation])
    error.effect = "none"
    return error


def _unpacked(path: str, data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            content = packed.read(BYTES_AT_MOST + 1)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InvalidInputFile.found(path, "gzip", "is not valid gzip", []) from error
    if len(content) > BYTES_AT_MOST:
        raise _too_large(path)
    return content


def _too_large(path: str) -> InvalidInputFile:
    said = f"larger than {BYTES_AT_MOST:,} bytes"
    return InvalidInputFile.found(path, "", f"is {said}", [{"message": said}])


def _reason(fault: FileFault) -> str:
    if fault.is_outside:
        return "it lies outside the root"
    if fault.kind == "not_regular":
        return f"it is a {fault.facts['what']}"
    if fault.is_misspelt:
        return 'it contains ".."' if fault.kind == "parent" else "no file can have this path"
    return fault.os_reason or "it is being written to"


_FAULTS_AT_MOST = 20


class InputFileNotFound(NotFound):
    """There is no readable file at this path below the root.

    Raised when: the path of a model, FASTA or table file names no readable file below the root of the server.
    Caller: give the path of a file below the root, relative to it.
    Operator: start the server with `--root` at the folder that holds the files.
    """

    path: Public[str]
    reason: Public[Words]
    code = "INPUT_FILE_NOT_FOUND"
    message = 'Cannot read "{path}": {reason}. Give a path below the root of this server.'
    hints = ("Give the path of an existing file, relative to the root of the server",)


class InvalidInputFile(InvalidArgument):
    """A file is not in the expected format.

    Raised when: a model file is not SBML, cobra JSON, MAT or YAML, or refers to undefined ids; a FASTA file has no
    sequences; a table of a medium has an invalid row. `faults` names line, element and id where known.
    Caller: correct the file at these places, or give another one.
    """

    path: Public[str]
    format: Public[str]
    faults: Public[list[dict[str, Any]]]
    code = "INVALID_INPUT_FILE"
    message = '"{path}" is not valid {format}.'
    hints = ("Correct the file where the faults are, then call again",)

    @classmethod
    def found(cls, path: str, format: str, said: str, faults: list[dict[str, Any]]) -> Self:  # noqa: A002 - the field
        """Return the error about a file in which these faults were found.

        Args:
            path: The file, as it was given.
            format: What it should be.
            said: What is wrong with the file, behind its path and without a full stop; foreign text in it is quoted.
            faults: All of them; the first 20 are sent.
        """
        sent = faults[:_FAULTS_AT_MOST]
        shown = bounded(path, _PATH_AT_MOST)
        return cls(message=f"{quoted(path)} {said}.", path=shown, format=format, faults=sent, effect="none")
