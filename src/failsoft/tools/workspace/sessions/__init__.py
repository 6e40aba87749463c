"""Sessions, roles, locks and invariants."""
