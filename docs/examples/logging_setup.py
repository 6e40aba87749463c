# --8<-- [start:program]
import asyncio
import io
import json

from library import Library

from failsoft import configure_logging

lines = io.StringIO()
configure_logging(level="WARNING", stream=lines)  # without `stream`, to standard error
asyncio.run(Library().get_book(title="Duna"))

line = json.loads(lines.getvalue())
print(
    {name: line[name] for name in ("level", "tool", "operation", "code", "recoverable")}
)
# --8<-- [end:program]
