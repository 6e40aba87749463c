"""Processes that are forked from a server which has loaded what they need: of jobs, and of the flux toolset."""
