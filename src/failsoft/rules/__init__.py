"""The rules for tools and their answers: one catalogue for `failsoft lint` and `failsoft probe`."""

from failsoft.rules.catalogue import RULES, by_name, find_rule, index_of_rules, page_of_rule, rule_pages
from failsoft.rules.rule import Half, Rule, Severity
from failsoft.rules.silence import Silences

__all__ = [
    "RULES",
    "Half",
    "Rule",
    "Severity",
    "Silences",
    "by_name",
    "find_rule",
    "index_of_rules",
    "page_of_rule",
    "rule_pages",
]
