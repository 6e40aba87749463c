"""Jobs in worker processes on any machine, brought to them by Temporal."""
