# --8<-- [start:program]
import asyncio
import hashlib
import json
import tempfile
from pathlib import Path

from failsoft import AuditLog, BaseTool, NotFound, Runtime, operation


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self, item: str) -> float:
        """Return the price of an item."""
        raise NotFound(message=f"There is no item '{item}'.")


async def main() -> None:
    path = Path(tempfile.mkdtemp()) / "audit-log.jsonl"
    log = AuditLog(path)
    shop = Shop(runtime=Runtime(audit=log))
    for item in ("aple", "pera"):
        response = await shop.price(item=item)
    log.close()

    before = "0" * 64
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        told = entry.pop("hash")
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == told
        assert entry["prev"] == before
        before = told
    print(entry["seq"], entry["code"], entry["error_id"] == response.error.error_id)


asyncio.run(main())
# --8<-- [end:program]
