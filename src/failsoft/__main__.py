"""`python -m failsoft` is the command `failsoft`."""

from __future__ import annotations

import sys

from failsoft.cli import main

if __name__ == "__main__":
    sys.exit(main())
