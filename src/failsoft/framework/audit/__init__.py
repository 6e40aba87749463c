"""The audit trail: every failure on disk before its caller learns of it, in a chain that shows every later change."""
