"""Replay: runs a captured call again with today's code, and says whether it ends as it did."""

from failsoft.replay.running import Replayed, run_again, settings_as_then

__all__ = ["Replayed", "run_again", "settings_as_then"]
