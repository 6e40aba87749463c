"""Toolsets as MCP tools: listing, calling, progress."""
