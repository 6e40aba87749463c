"""Results, failures and responses of calls.

`result.py` says whether a value reports a failure. `call/explain.py` writes the words of a `Failure`, `formats.py`
renders it as JSON, and `lean.py` as the text that models read.
"""
