"""The trades that may be looked at while answers are changed."""
