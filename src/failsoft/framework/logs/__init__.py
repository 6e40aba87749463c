"""Log lines of calls, the output of an application, and alerts."""
