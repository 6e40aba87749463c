"""`RepairArguments`: safe coercions and unambiguous renames."""
