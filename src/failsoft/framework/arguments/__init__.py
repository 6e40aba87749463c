"""Arguments of an operation, from a signature or a JSON Schema.

`signature.py` declares and validates those of a signature, `json_schema.py` those of a schema that was given;
`schemas.py` walks schemas and resolves `$ref`. What was refused is explained by `faults.py` (from the published schema)
and `pydantic_faults.py` (an author's own checks), worded by `wording.py`, and corrected by `corrected.py`.
"""
