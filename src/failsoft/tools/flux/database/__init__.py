"""The compounds and reactions of ModelSEED, in a SQLite file that is built on first use."""

from failsoft.tools.flux.database.entries import Compound, Reaction
from failsoft.tools.flux.database.lookup import Database, Hits

__all__ = ["Compound", "Database", "Hits", "Reaction"]
