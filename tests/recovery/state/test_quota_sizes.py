"""How much of its quota a record uses: small ones cost the store more than their bytes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from failsoft import QuotaExhausted
from tests.recovery.state.stores import KINDS, opened, records_in


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_counts_at_least_256_bytes(kind: str, tmp_path: Path, request: Any) -> None:
    async def main(store: Any) -> int:
        records = records_in(store, quota=2_560)
        try:
            for number in range(40):
                await records.put(f"note:{number}", 1, 60.0, principal="ann")
        except QuotaExhausted:
            return len(await records.find("note:"))
        finally:
            await store.close()
        return 40

    with opened(kind, tmp_path, request) as new:
        stored = asyncio.run(main(new()))
    assert stored == 10


@pytest.mark.parametrize("kind", KINDS)
def test_the_quota_of_one_principal_is_not_that_of_another(kind: str, tmp_path: Path, request: Any) -> None:
    async def main(store: Any) -> None:
        records = records_in(store, quota=256)
        await records.put("note:1", 1, 60.0, principal="ann")
        with pytest.raises(QuotaExhausted):
            await records.put("note:2", 1, 60.0, principal="ann")
        await records.put("note:3", 1, 60.0, principal="bob")
        await store.close()

    with opened(kind, tmp_path, request) as new:
        asyncio.run(main(new()))
