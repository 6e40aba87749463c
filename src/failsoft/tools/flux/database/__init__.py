"""The compounds and reactions of ModelSEED, in a SQLite file that is built on first use."""

from failsoft.tools.flux.database.database import Database, Facts, Hits
from failsoft.tools.flux.database.entries import Compound, Reaction
from failsoft.tools.flux.database.search import Kind, is_ec_number, plain_id

__all__ = ["Compound", "Database", "Facts", "Hits", "Kind", "Reaction", "is_ec_number", "plain_id"]
