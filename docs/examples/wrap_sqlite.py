# --8<-- [start:tool]
import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from failsoft import AlreadyExists, BaseTool, NotFound, Runtime, operation


class Customers(BaseTool):
    """Customers in an SQLite file."""

    def __init__(self, path: Path, *, runtime: Runtime | None = None) -> None:
        super().__init__(runtime=runtime)
        self.path = path

    def connect(self) -> sqlite3.Connection:
        """Open a connection for one call; it waits two seconds for a lock."""
        return sqlite3.connect(self.path, timeout=2.0)

    @operation(read_only=True, timeout=5.0)
    def get_customer(self, email: str) -> str:
        """Return a customer's name."""
        with closing(self.connect()) as db:
            found = db.execute("SELECT name FROM customer WHERE email = ?", (email,))
            row = found.fetchone()
        if row is None:
            raise NotFound(message=f"No customer has the address {email}.")
        return row[0]

    @operation(timeout=5.0, atomic=True)
    def add_customer(self, email: str, name: str) -> None:
        """Add a customer."""
        with closing(self.connect()) as db, db:  # the second one commits, or rolls back
            try:
                db.execute(
                    "INSERT INTO customer (email, name) VALUES (?, ?)", (email, name)
                )
            except sqlite3.IntegrityError as exc:  # the transaction is rolled back
                raise AlreadyExists(message=f"{email} is known already.") from exc

    @operation(read_only=True, timeout=5.0)
    def query(self, sql: str) -> list[tuple[str | int | float | None, ...]]:
        """Run one SELECT; at most 100 rows come back."""
        file = f"file:{self.path}?mode=ro"
        with closing(sqlite3.connect(file, uri=True, timeout=2.0)) as db:
            return db.execute(sql).fetchmany(100)


# --8<-- [end:tool]


# --8<-- [start:calls]
async def main(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE customer (email TEXT PRIMARY KEY, name TEXT)")
    customers = Customers(path)
    print((await customers.add_customer(email="ada@example.org", name="Ada")).success)
    for failed in (
        await customers.add_customer(email="ada@example.org", name="Ada"),
        await customers.get_customer(email="ben@example.org"),
        await customers.query(sql="SELECT nam FROM customer"),
        await customers.query(sql="DELETE FROM customer"),
    ):
        print(
            failed.error.code,
            failed.error.effect,
            failed.error.retry.when,
            failed.error.message,
        )


if __name__ == "__main__":
    asyncio.run(main(Path("customers.db").resolve()))
# --8<-- [end:calls]
