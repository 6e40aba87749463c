"""The version, taken from the tag at build time; a fallback for a checkout that was never installed."""

from __future__ import annotations

import importlib

__all__ = ["__version__"]

try:
    __version__: str = importlib.import_module("failsoft._built_version").__version__
except ModuleNotFoundError:
    __version__ = "0.1.0.dev0"
