"""`failsoft proxy`: typed errors, validation, recovery and metrics in front of any MCP server."""
