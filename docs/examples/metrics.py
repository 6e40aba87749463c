# --8<-- [start:program]
import asyncio

from library import Library

from failsoft import Runtime
from failsoft.metrics import PrometheusRecorder, render

recorder = PrometheusRecorder()
library = Library(runtime=Runtime(metrics=recorder))


async def main() -> None:
    await library.get_book(title="Dune")
    await library.get_book(title="Duna")


asyncio.run(main())
text, _content_type = render(recorder)
for line in text.decode().splitlines():
    if line.startswith(
        ("mcp_tool_calls_total{", "mcp_tool_errors_total{")
    ) and not line.endswith(" 0.0"):
        print(line)
# --8<-- [end:program]
