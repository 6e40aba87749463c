"""Audit trail: failures are written and synced before the caller gets them, in a tamper-evident hash chain."""
