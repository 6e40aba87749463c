"""Worker processes that hold COBRApy, forked from a server that has it loaded."""
