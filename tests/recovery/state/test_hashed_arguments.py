"""What a state file says of the arguments of a call with a key: a hash that nobody can look up."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from failsoft import BaseTool, Runtime, Settings, operation
from failsoft.events import Events
from tests.doors import META_KEY, CallScope, open_state


class Shop(BaseTool):
    """A shop."""

    @operation()
    async def pay(self, pin: int) -> str:
        """Pay."""
        return "paid"


def digests(home: Path, pin: int, monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """Return the hashes in the store of a user who keeps it in this folder, after one call."""
    home.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(home))

    async def main() -> None:
        events = Events()
        state = open_state(f"sqlite:{home / 'state.sqlite'}", events)
        async with Shop(runtime=Runtime(settings=Settings(), events=events, state=state)) as shop:
            answer = await shop.operations["pay"].call({"pin": pin}, CallScope(meta={META_KEY: "k1"}))
        await state.close()
        if not answer.success:
            raise RuntimeError(answer)

    asyncio.run(main())
    kept = b"".join(file.read_bytes() for file in sorted(home.glob("state.sqlite*")))
    return set(re.findall(rb"\b[0-9a-f]{16,}\b", kept))


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="The hashes of arguments in the state store have no key, so that who reads the file finds a PIN by trying "
    "all; they should be keyed.",
)
def test_the_hash_of_an_argument_differs_from_one_user_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bob = (digests(tmp_path / name, 4711, monkeypatch) for name in ("ada", "bob"))
    another = digests(tmp_path / "another", 815, monkeypatch)
    if not ada - another:
        raise RuntimeError(ada)
    assert (ada & bob) - another == set()
