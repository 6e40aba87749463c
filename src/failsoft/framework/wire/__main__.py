"""`python -m failsoft.framework.wire --write docs/schemas` writes the formats' schemas; `--check` compares them."""

from __future__ import annotations

from collections.abc import Sequence

from failsoft.framework.generated_files import write_or_check
from failsoft.framework.wire import schema_files

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the published schemas; the exit code is 1 if `--check` found a difference."""
    return write_or_check("failsoft.framework.wire", "*.schema.json", schema_files, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
