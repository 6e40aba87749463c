"""English stop words, removed from questions."""

from __future__ import annotations

__all__ = ["STOP_WORDS"]

_WORDS = """
    a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn did didn do does doesn doing don down during each else ever every
    few for from further get gets give given go had hadn has hasn have haven having he her here hers herself him
    himself his how however i if im in into is isn it its itself just let like ll may me might more most must my
    myself need needs no nor not now of off on once one only or other ought our ours ourselves out over own please
    re same shall she should shouldn show so some somehow something such tell than that the their theirs them
    themselves then there these they this those through to too under until up upon us ve very want wants was wasn
    way we were weren what when where whether which while who whole whom whose why will with within without won
    would wouldn you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_WORDS.split())
