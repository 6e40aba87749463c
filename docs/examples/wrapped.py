# --8<-- [start:library]
class PrinterJam(Exception):
    """Raised by a third-party driver."""

    def __init__(self, tray: int) -> None:
        super().__init__(f"jam at 0x7f in tray {tray}")
        self.tray = tray


def drive(text: str) -> str:
    raise PrinterJam(tray=len(text))


# --8<-- [end:library]


# --8<-- [start:error]
from failsoft import Public, Unavailable


class PrinterJammed(Unavailable):
    """Paper is stuck in the printer.

    Raised when: the driver reports a jam.
    Caller: call again once the wait is over; if it persists, inform the user.
    Operator: clear the tray that the answer names.
    """

    tray: Public[int]
    code = "PRINTER_JAMMED"
    message = "Paper is stuck in tray {tray} of the printer."
    since = "1.0"


# --8<-- [end:error]


# --8<-- [start:raise]
from failsoft import BaseTool, operation


class Printer(BaseTool):
    """The printer in the hall."""

    @operation(idempotent=True)
    async def print_label(self, text: str) -> str:
        """Print one label."""
        try:
            return drive(text)
        except PrinterJam as jam:
            raise PrinterJammed(
                tray=jam.tray, effect="none", retry_after_seconds=30.0
            ) from jam


# --8<-- [end:raise]

# --8<-- [start:run]
import asyncio


async def main() -> None:
    response = await Printer().print_label(text="ab")
    assert response.error is not None
    print(
        response.error.code,
        response.error.retry.when,
        response.error.retry.after_seconds,
    )
    print(response.error.message)


asyncio.run(main())
# --8<-- [end:run]


# --8<-- [start:rule]
def from_exception(exc: BaseException) -> PrinterJammed | None:
    """Return the typed error for an exception of the driver, None for all others."""
    return PrinterJammed(tray=exc.tray) if isinstance(exc, PrinterJam) else None


# --8<-- [end:rule]
