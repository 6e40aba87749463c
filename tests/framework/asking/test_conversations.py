"""Generated conversations: whatever a client and its person do, no effect without consent, and one question a call."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import pytest

from failsoft import (
    AskPerson,
    BaseTool,
    CallContext,
    Hedge,
    NotFound,
    RecoveryResult,
    Reference,
    Retry,
    Unavailable,
    operation,
)
from failsoft.testing import InstantClock
from tests.doors import META_KEY, Answer, AwaitingAnswer, CallScope, Question
from tests.framework.recording import Recording, quiet_runtime
from tests.thorough import examples

RETRY = Retry(attempts=4, base_s=0, cap_s=0)
ITEMS = ["tea", "team", "milk"]


def stocked(item: str) -> None:
    """Look an item up."""
    if item not in ITEMS:
        raise NotFound(f"No item {item}.", suggestions=ITEMS)


Ask = Callable[[Question], Awaitable[Answer]]
Item = Annotated[str, Reference(stocked, kind="spelled")]


class Swap:
    """Tries another item, which nobody consented to."""

    async def attempt(self, error: Any, call: Any) -> RecoveryResult | None:
        """Run the handler again with it."""
        if error.code != "UNAVAILABLE" or call.toolset.dice.random() < 0.5:
            return None
        return RecoveryResult(await call.retry(item="milk"), "Took milk")


class Shop(BaseTool):
    """Sells, with consent alone; what was sold is in `sold`."""

    name = "shop"

    def __init__(self) -> None:
        self.events = Recording()
        super().__init__(runtime=quiet_runtime(metrics=self.events))
        self.begin(random.Random(0))  # noqa: S311 - no secret

    def begin(self, dice: random.Random) -> None:
        """Begin a conversation."""
        self.dice = dice
        self.sold: list[Any] = []
        self.notes = 0
        self.events.events.clear()

    def sell(self, item: str, count: int) -> str:
        """Fail before it, or sell."""
        if self.dice.random() < 0.3:
            raise Unavailable(effect="none")
        self.sold.append((item, count))
        if self.dice.random() < 0.1:
            raise Unavailable
        return item

    @operation(confirm=True, timeout=5.0, recovery=[Swap(), AskPerson(["item", "count"]), RETRY])
    async def plain(self, item: Item, count: int = 1) -> str:
        """Sell."""
        await asyncio.sleep(self.dice.choice([0, 1]))
        return self.sell(item, count)

    @operation(confirm=True, effects=True, timeout=5.0, recovery=[RETRY, AskPerson(["item"])])
    async def marked(self, item: Item, call: CallContext, count: int = 1) -> Any:
        """Sell, with a mark."""

        async def sell() -> str:
            return self.sell(item, count)

        return await call.effect("sell", sell)

    @operation(confirm="when destructive", timeout=5.0, recovery=[RETRY])
    def in_thread(self, item: Item, count: int = 1) -> str:
        """Sell in a thread."""
        return self.sell(item, count)

    @operation(confirm=True, read_only=True, timeout=5.0, recovery=[Hedge(delay_s=0.5), RETRY])
    async def look(self, item: str) -> str:
        """Look, which needs consent here, too."""
        await asyncio.sleep(self.dice.choice([0, 1]))
        self.sold.append((item, 1))
        return item

    @operation(read_only=True, timeout=5.0, recovery=[RETRY])
    async def around(self, item: str) -> Any:
        """Sell in a call below."""
        response = await self.dice.choice([self.plain, self.marked])(item=item)
        return response.data if self.dice.random() < 0.5 else response.unwrap()

    @operation(read_only=True, timeout=5.0, recovery=[Hedge(delay_s=0.5), RETRY])
    async def around_hedged(self, item: str) -> Any:
        """Sell in a call below, of which there may be two at once."""
        await asyncio.sleep(self.dice.choice([0, 1]))
        return (await self.plain(item=item)).data

    @operation(timeout=5.0)
    async def around_late(self, item: str) -> Any:
        """Take a note, which needs no consent, and sell in a call below."""
        self.notes += 1
        return (await self.plain(item=item)).data

    @operation(effects=True, timeout=5.0)
    async def around_marked(self, item: str, call: CallContext) -> Any:
        """Take a note, with a mark, and sell in a call below."""

        async def note() -> None:
            self.notes += 1

        await call.effect("note", note)
        return (await self.plain(item=item)).data

    @operation(timeout=5.0)
    async def around_two(self, item: str) -> Any:
        """Try to sell twice in calls below."""
        both = await asyncio.gather(self.plain(item=item), self.marked(item=item))
        return [response.data for response in both]


class Client:
    """A client of either era with a person, who answers anything; what was consented to is in `consents`."""

    def __init__(self, shop: Shop, dice: random.Random) -> None:
        self.shop, self.dice = shop, dice
        self.consents: list[str] = []
        self.asked = 0

    def answer(self, question: Question) -> Answer:
        """Answer a question, mostly sensibly."""
        self.asked += 1
        dice = self.dice
        content: dict[str, Any] = {"confirm": dice.choice([True, True, True, False, "true", 1, None])}
        if "item" in question.schema["properties"]:
            content["item"] = dice.choice([*ITEMS, "beer", 5])
        if "count" in question.schema["properties"]:
            content["count"] = dice.choice([1, 2, "2"])
        if dice.random() < 0.1:
            content.pop("confirm")
        action: Any = dice.choice(["accept"] * 5 + ["decline", "cancel", "unanswered"])
        if action == "accept" and content.get("confirm") is True:
            self.consents.append(question.message + json.dumps(content))
        return Answer(action, content)

    async def call(self, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> Any:
        """Call as a client of 2025, which is asked meanwhile, as one of 2026, which comes again, or without forms."""
        era = self.dice.choice(["none", "2025", "2025", "2026", "2026"])
        if era == "none":
            return await self._send(name, arguments, None, meta)
        if era == "2025":
            return await self._send(name, arguments, self._waiting, meta)
        before = self.shop.notes, len(self.shop.sold)
        try:
            return await self._send(name, arguments, self._later, meta)
        except AwaitingAnswer as asked:
            assert (self.shop.notes, len(self.shop.sold)) == before
            answer, digest = self.answer(asked.question), asked.question.digest

        async def brought(question: Question) -> Answer:
            return answer if question.digest == digest else Answer("unanswered")

        if self.dice.random() < 0.1:
            arguments = {**arguments, "item": self.dice.choice(ITEMS)}
        return await self._send(name, arguments, brought, meta)

    async def _send(
        self, name: str, arguments: Any, ask: Callable[[Question], Awaitable[Answer]] | None, meta: Any
    ) -> Any:
        scope = CallScope(ask=ask, meta=meta, cancels=lambda: self.dice.random() < 0.5)
        task = asyncio.ensure_future(self.shop.operations[name].call(arguments, scope))
        if name != "in_thread" and self.dice.random() < 0.1:  # whose thread would go on in the next conversation
            await asyncio.wait([task], timeout=self.dice.choice([0, 0.5, 3]))
            task.cancel()
        before = self.asked
        try:
            response = await task
        except asyncio.CancelledError:
            if scope.left_running:
                await asyncio.wait(scope.left_running)
            return None
        assert self.asked - before <= 1
        return response

    async def _waiting(self, question: Question) -> Answer:
        await asyncio.sleep(self.dice.choice([0, 2, 60, 119, 121, 10_000]))
        if self.dice.random() < 0.05:
            raise ConnectionError
        return self.answer(question)

    @staticmethod
    async def _later(question: Question) -> Answer:
        raise AwaitingAnswer(question)


async def converse(shop: Shop, seed: int) -> None:
    """Hold one conversation of several calls, and look at every effect."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    shop.begin(dice)
    client = Client(shop, dice)
    for number in range(dice.randint(1, 3)):
        name = dice.choice(sorted(shop.operations))
        arguments: dict[str, Any] = {"item": dice.choice([*ITEMS, *ITEMS, *ITEMS, "milc", 5])}
        if dice.random() < 0.2:
            del arguments["item"]
        if dice.random() < 0.2 and "count" in shop.operations[name].input_schema["properties"]:
            arguments["count"] = dice.choice([2, 3, "3"])
        meta = {META_KEY: f"{seed}-{number}"} if dice.random() < 0.4 else {}
        sold, consents = len(shop.sold), len(client.consents)
        for _ in range(dice.choice([1, 1, 2])):
            await client.call(name, dict(arguments), meta)
        given = client.consents[consents:]
        for item, count in shop.sold[sold:]:
            assert any(f'"{item}"' in consent for consent in given), (seed, name, item, given)
            assert count == 1 or any(f": {count}" in consent for consent in given), (seed, name, count, given)
        if name != "look":  # which hedges, and is repeated
            assert len(shop.sold) - sold <= len(given), (seed, name, shop.sold[sold:], given)
    events = shop.events.events
    assert events.count(("started",)) == len(shop.events.of("finished")) + events.count(("put_off",)), seed


def check_conversations(first: int, count: int) -> None:
    """Hold conversations with these seeds, on one loop whose clock jumps."""

    async def all_of_them() -> None:
        shop = Shop()
        for seed in range(first, first + count):
            await converse(shop, seed)

    InstantClock().run(all_of_them())


@pytest.mark.parametrize("first", [0, 100_000])
def test_no_effect_without_consent(first: int) -> None:
    check_conversations(first, examples(100))
