"""Adapters: failsoft around the tools of servers that already exist (`mcp`'s MCPServer, FastMCP 4)."""
