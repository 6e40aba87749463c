"""Rules for exceptions of known libraries, none of which is imported."""
