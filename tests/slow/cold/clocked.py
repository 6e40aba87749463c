"""A program over a store in SQLite, a limit of one call a minute, and an audit log whose files are kept for a month."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from failsoft import AuditLog
from tests.doors import SqliteBackend, segments, take
from tests.recovery.state.stores import records_in


async def answers(folder: Path) -> None:
    """Answer each line of stdin: `keep` stores a record and writes to the log, `log` only writes, `look` neither."""
    records = records_in(SqliteBackend(folder / "state.sqlite"))
    log = AuditLog(folder / "log.jsonl", max_bytes=1_000, keep_days=30.0, key=b"a key of sixteen")
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        if line.strip() == "keep":
            await records.put("key:1", "done", 3_600.0)
        if line.strip() in {"keep", "log"}:
            for number in range(20):
                await log.record({"event": "failed", "error_id": f"{number:016x}", "reason": "a" * 100})
        is_granted, wait_s = await records.change(take, "rate:1", 1, 60.0, 1)
        found: dict[str, Any] = {"key": await records.get("key:1"), "is_granted": is_granted, "wait_s": wait_s}
        answer = {**found, "time": time.time(), "files": len(segments(log.path))}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(answers(Path(sys.argv[1])))
