"""English stop words, removed from questions, and synonyms in texts about software."""

from __future__ import annotations

from failsoft.tools.docs.search.snippet import root_of

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

_GROUPS = """
    account user username person people | add insert append | app application program |
    argument parameter param arg option flag | auth authentication login signin | begin start | build compile bundle |
    change modify edit update | check verify validate test | choose select pick | cli terminal command shell |
    config configuration setting | create make generate new | db database | delete remove uninstall erase |
    dependency package library module | dev development | directory folder | doc documentation |
    duplicate twice repeat | env environment | error failure exception problem | execute exec run |
    find search locate | fix repair solve | function method | image picture photo | language locale translation |
    link url address | list show display print | multiple several many | password secret credential token key |
    performance slow fast latency | permission right access | prod production | ram memory | record log |
    reply response answer | repo repository | site website | store save persist | stop cancel abort interrupt |
    upgrade migrate | voice speech audio
"""
"""Words on one matter: synonyms, short forms, and a few that are asked for in each other's place."""


def _synonyms() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for group in _GROUPS.split("|"):
        roots = frozenset(map(root_of, group.split()))
        found.update({root: roots - {root} for root in roots})
    return found


SYNONYMS = _synonyms()
"""By the root of a word: the roots of those that a page may have in its place."""
