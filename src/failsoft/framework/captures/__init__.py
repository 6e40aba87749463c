"""Captures of failed calls: what a call was given and how it ended, in a file each, so that it can be run again."""

from failsoft.framework.captures.folder import CaptureFolder, captures_folder
from failsoft.framework.captures.keeper import Captures
from failsoft.framework.captures.script import Script
from failsoft.framework.captures.stored import Capture, read_capture

__all__ = ["Capture", "CaptureFolder", "Captures", "Script", "captures_folder", "read_capture"]
