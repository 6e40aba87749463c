"""Sixty failures of three servers: what an agent wants, the call that it sends, and what it should do then.

What is right was written down before any answer was seen. An agent knows what `wants` says, and the list of tools.
"""

from agents.answers import clinic_failures, ledger_failures, parcels_failures
from agents.answers.worlds import Failure

FAILURES: list[tuple[str, Failure]] = [
    (server, failure)
    for server, failures in (
        ("clinic", clinic_failures.FAILURES),
        ("parcels", parcels_failures.FAILURES),
        ("ledger", ledger_failures.FAILURES),
    )
    for failure in failures
]
