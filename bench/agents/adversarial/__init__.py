"""Calls that mean something else than the nearest valid call, and what answers make of them."""
