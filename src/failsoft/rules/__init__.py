"""The rules for tools and their answers: one catalogue for `failsoft lint` and `failsoft probe`."""

from failsoft.rules.catalogue import RULES, Silences, by_name, find_rule, index_of_rules, page_of_rule, rule_pages
from failsoft.rules.rule import Half, Rule, Severity

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
