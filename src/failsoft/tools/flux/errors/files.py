"""Errors of files that a caller names: models, sequences and media tables."""

from __future__ import annotations

from typing import Any, Self

from failsoft.framework.errors import InvalidArgument, NotFound, Public, Words
from failsoft.framework.text import bounded, quoted

_PATH_AT_MOST = 300
_FAULTS_AT_MOST = 20


class InputFileNotFound(NotFound):
    """There is no such file below the root.

    Raised when: the path of a model, FASTA or table file does not name a readable file below the root of the server.
    Caller: give the path of a file below the root, relative to it.
    Operator: start the server with `--root` at the folder that holds the files.
    """

    path: Public[str]
    reason: Public[Words]
    code = "INPUT_FILE_NOT_FOUND"
    message = 'Cannot read "{path}": {reason}. Give a path below the root of this server.'
    hints = ("Give the path of an existing file, relative to the root of the server",)
    since = "0.2.0"


class InvalidInputFile(InvalidArgument):
    """A file is not in the format that it should be in.

    Raised when: a model file is not SBML, cobra JSON, MAT or YAML, or refers to undefined ids; a FASTA file
    has no sequences; a table of a medium has an invalid row. `faults` name line, element and id where known.
    Caller: correct the file at these places, or give another one.
    """

    path: Public[str]
    format: Public[str]
    faults: Public[list[dict[str, Any]]]
    code = "INVALID_INPUT_FILE"
    message = '"{path}" is not valid {format}.'
    hints = ("Correct the file where the faults are, then call again",)
    since = "0.2.0"

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
