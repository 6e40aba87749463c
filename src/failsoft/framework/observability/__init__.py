"""Log lines, log sinks and alerts."""
