"""The operator's commands that a change has to pass."""
