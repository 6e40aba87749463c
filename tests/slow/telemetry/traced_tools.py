"""Tools whose calls are traced."""

from __future__ import annotations

from failsoft import BaseTool, CallContext, DocumentNotFound, Retry, Unavailable, operation

SECRET = "hunter2-and-more"


class Till(BaseTool):
    """A till."""

    @operation(read_only=True, recovery=[Retry(3, base_s=0.001)])
    async def balance(self, call: CallContext) -> int:
        """Return the balance, at the second attempt."""
        if call.attempt == 1:
            raise Unavailable
        return 7

    @operation(read_only=True)
    async def find(self, name: str) -> None:
        """Fail, as expected."""
        raise DocumentNotFound(path=name)

    @operation(effects=True)
    async def pay(self, call: CallContext) -> int:
        """Book."""
        return await call.effect("book", lambda: 1)

    @operation(read_only=True)
    async def headers(self, call: CallContext) -> dict[str, str]:
        """Return what a handler would send on to another service."""
        return call.http_headers()

    @operation(read_only=True)
    async def crash(self, password: str) -> None:
        """Fail by a defect."""
        msg = f"password={password} is not known to {self.name}"
        raise RuntimeError(msg)
