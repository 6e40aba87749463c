"""Adapters: failsoft around an MCPServer of `mcp`, a FastMCP 4 server, or an API with an OpenAPI document."""
