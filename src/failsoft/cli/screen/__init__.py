"""Output of the commands: plain text, or rich on a terminal."""
