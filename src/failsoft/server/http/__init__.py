"""The ASGI application: `/mcp`, `/metrics`, probes, access."""
