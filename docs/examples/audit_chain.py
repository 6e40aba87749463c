# --8<-- [start:program]
import asyncio
import hmac
import json
import tempfile
from pathlib import Path

from failsoft import AuditLog, BaseTool, NotFound, Runtime, operation

KEY = b"a key of at least sixteen bytes"


class Shop(BaseTool):
    """A shop."""

    @operation(read_only=True)
    async def price(self, item: str) -> float:
        """Return the price of an item."""
        raise NotFound(message=f"There is no item '{item}'.")


async def main() -> None:
    folder = Path(tempfile.mkdtemp())
    log = AuditLog(folder / "audit-log.jsonl", key=KEY, head_path=folder / "head")
    shop = Shop(runtime=Runtime(audit=log))
    for item in ("aple", "pera"):
        response = await shop.price(item=item)
    log.close()

    before = "0" * 64
    for line in log.path.read_text().splitlines():
        entry = json.loads(line)
        noted = entry.pop("hash")
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
        assert hmac.digest(KEY, text.encode(), "sha256").hex() == noted
        assert entry["prev"] == before
        before = noted
    print(entry["seq"], entry["code"], entry["error_id"] == response.error.error_id)


asyncio.run(main())
# --8<-- [end:program]
