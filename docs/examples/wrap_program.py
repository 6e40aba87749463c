# --8<-- [start:tool]
import asyncio
import subprocess
import sys
from pathlib import Path

from failsoft import (
    BaseTool,
    ConfigurationError,
    InvalidArgument,
    Runtime,
    operation,
)

# Any program that reads and writes text.
FORMATTER = [sys.executable, "-m", "json.tool"]


class Json(BaseTool):
    """Formats JSON with a command-line program."""

    def __init__(
        self, command: list[str] | None = None, *, runtime: Runtime | None = None
    ) -> None:
        super().__init__(runtime=runtime)
        self.command = command or FORMATTER

    @operation(read_only=True, timeout=2.0)
    async def format_json(self, text: str) -> str:
        """Return the text, indented."""
        try:
            return await run(self.command, text)
        except subprocess.CalledProcessError as exc:
            if exc.returncode == 1:  # what this program says of a bad input
                raise InvalidArgument(
                    message=f"The text is not JSON: {exc.stderr.decode().strip()}"
                ) from exc
            raise


async def run(command: list[str], text: str) -> str:
    """Return what a program prints. No shell interprets its arguments, a list."""
    pipe = subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe
        )
    except FileNotFoundError as exc:
        raise ConfigurationError(
            message=f"{command[0]} is not installed on this server."
        ) from exc
    try:
        out, err = await process.communicate(text.encode())
    except asyncio.CancelledError:  # the time limit, or the client gave up
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise subprocess.CalledProcessError(
            process.returncode, Path(command[0]).name, out, err
        )
    return out.decode()


# --8<-- [end:tool]


# --8<-- [start:calls]
async def main() -> None:
    print((await Json().format_json(text='{"a":1}')).data)
    for tool, text in (
        (Json(), "{"),
        (Json(["no-such-program"]), "{}"),
        (Json(["sleep", "60"]), "{}"),
    ):
        failed = await tool.format_json(text=text)
        print(
            failed.error.code,
            failed.error.effect,
            failed.error.retry.when,
            failed.error.message,
        )


if __name__ == "__main__":
    asyncio.run(main())
# --8<-- [end:calls]
