"""A captured call as a test: its arguments as data, nothing that reads the capture."""

from __future__ import annotations

import json
import re

from failsoft.framework.captures.stored import Capture

_SOURCE = '''"""A call of `{operation}` that failed with {code} ({error_id}); written by `failsoft replay`."""

import json

from failsoft.testing import replayed

CALL = json.loads(
    r\'\'\'
{call}
\'\'\'
)


def test_{name}_does_not_fail_as_in_{error_id}() -> None:
    ended = replayed({app}, CALL)
    assert ended.outcome != "same", str(ended)
    assert not ended.is_defect, str(ended)
'''
_LEFT_OUT = {"origin", "redacted", "not_replayable", "withheld", "timestamp"}


def source_of_test(capture: Capture, app: str) -> str:
    """Return the source of a test that fails while the call ends as it did, or with a defect.

    Args:
        capture: The call.
        app: `module:attribute` of the application, or the name of an installed toolset.
    """
    call = json.dumps(capture.model_dump(exclude=_LEFT_OUT, exclude_defaults=True, exclude_unset=True), indent=1)
    return _SOURCE.format(
        operation=_word(capture.operation),
        code=_word(capture.code),
        error_id=capture.error_id,
        call=call.replace("'", "\\u0027"),  # JSON text is ASCII, so that nothing in it ends the literal
        name=_word(capture.operation),
        app=json.dumps(app),
    )


def _word(text: str) -> str:
    """Return a name that can be part of an identifier."""
    return re.sub(r"[^A-Za-z0-9_]", "_", text)
