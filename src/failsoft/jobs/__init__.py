"""Calls that outlive their request: durable jobs, the port of what runs them, and the tools to follow them.

`record.py` has the state of a job and the steps that change it; `JobBook` in `engine.py` stores it.
"""
