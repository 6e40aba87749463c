"""Targets of commands: toolsets, applications, running servers, and arguments of calls."""
