import asyncio

from failsoft import BaseTool, CallContext, operation


class Reports(BaseTool):
    """Reports that take their time."""

    @operation(job="required", read_only=True, timeout=900.0)
    async def write_report(self, call: CallContext, chapters: int = 3) -> str:
        """Write a report."""
        for chapter in range(1, chapters + 1):
            await asyncio.sleep(1.0)  # the work
            await call.report_progress(chapter, chapters, f"chapter {chapter}")
        return f"a report of {chapters} chapters"
