"""Opposites, units and currencies: what the mechanical traps are made of."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["CURRENCIES", "IMPERIAL", "UNITS", "VERBS", "opposites"]

_PAIRS = (
    "from to, min max, minimum maximum, start end, begin end, before after, since until, source target,"
    "origin destination, sender recipient, enable disable, enabled disabled, include exclude, included excluded,"
    "first last, oldest newest, lower upper, debit credit, with without, above below, old new,"
    "inbound outbound, incoming outgoing, arrival departure, earliest latest, asc desc, ascending descending,"
    "increase decrease, public private, active inactive, paid unpaid, allow deny, allowed denied, open closed,"
    "valid invalid, known unknown, left right, up down, high low, more less, internal external,"
    "accept decline, buyer seller, lender borrower, parent child, previous next, required optional, cheapest dearest,"
    "heat cool, heating cooling, import export, sent received, online offline, indoor outdoor"
)
_VERBS = (
    "open close, add remove, lock unlock, block unblock, start stop, create delete, grant revoke, approve reject,"
    "assign unassign, subscribe unsubscribe, archive unarchive, pause resume, attach detach, enable disable,"
    "buy sell, lend return, freeze unfreeze, publish unpublish, arm disarm, connect disconnect, activate deactivate,"
    "hire dismiss, increase decrease, raise lower, deposit withdraw, admit discharge, load unload, plant uproot,"
    "charge discharge, encrypt decrypt, mount unmount, enroll unenroll, hold release, import export,"
    "invite uninvite, merge split"
)
IMPERIAL = {
    "kg": ("lb", Fraction("0.45359237")),
    "km": ("miles", Fraction("1.609344")),
    "m": ("ft", Fraction("0.3048")),
    "cm": ("in", Fraction("2.54")),
    "l": ("gal", Fraction("3.785411784")),
}
"""Unit -> another, and how much of the first one of the other is."""
_UNITS = (
    "kg 1000 g, kg 0.001 t, g 0.001 kg, g 1000 mg, mg 0.001 g, mg 1000 mcg, ml 0.001 l, l 1000 ml, l 100 cl,"
    "km 1000 m, m 100 cm, m 0.001 km, cm 10 mm, cm 0.01 m, mm 0.1 cm, s 1000 ms, ms 0.001 s, ms 1000 us,"
    "minutes 60 seconds, hours 60 minutes, days 24 hours, weeks 7 days, years 12 months, seconds 1000 ms,"
    "kw 1000 w, w 0.001 kw, kwh 1000 wh, kwh 0.001 mwh, percent 0.01 ratio, ratio 100 percent,"
    "mbps 1000 kbps, ha 10000 m2, bar 1000 mbar, cents 0.01 euros, eur 100 cents"
)
UNITS: dict[str, list[tuple[str, Fraction]]] = {}
"""Unit -> others, and how much of each one is."""
for _one in _UNITS.split(","):
    _unit, _factor, _other = _one.split()
    UNITS.setdefault(_unit, []).append((_other, Fraction(_factor)))
CURRENCIES = ("EUR", "USD", "GBP", "CHF", "AUD", "CAD", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "NZD", "SGD")


def _both_ways(pairs: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs.split(","):
        one, other = pair.split()
        found.setdefault(one, other)
        found.setdefault(other, one)
    return found


_OPPOSITES = _both_ways(_PAIRS)
VERBS = _both_ways(_VERBS) | _OPPOSITES


def opposites(name: str, among: dict[str, str] = _OPPOSITES) -> list[tuple[str, str]]:
    """Return a name with one of its words turned into the opposite, and that word."""
    words = name.split("_")
    return [
        ("_".join([*words[:place], among[word], *words[place + 1 :]]), among[word])
        for place, word in enumerate(words)
        if word in among
    ]
