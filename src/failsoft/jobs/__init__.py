"""Calls that outlive their request: durable jobs, the port of what runs them, and the tools to follow them."""
