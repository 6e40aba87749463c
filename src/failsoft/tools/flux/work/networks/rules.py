"""Gene rules, `(a and b) or c`, in a normal form."""

from __future__ import annotations

from collections.abc import Collection, Iterable


def gene_ids(sequence_ids: Iterable[str]) -> dict[str, str]:
    """Return the gene for each sequence: its id, without the bar that rules read as `or`; each gene once."""
    genes: dict[str, str] = {}
    taken: set[str] = set()
    for sequence_id in sequence_ids:
        bare = gene = sequence_id.replace("|", "_")
        number = 2
        while gene in taken:
            gene = f"{bare}_{number}"
            number += 1
        taken.add(gene)
        genes[sequence_id] = gene
    return genes


def any_of(complexes: Collection[frozenset[str]]) -> str:
    """Return the rule for complexes of which any one is enough; empty if one of them needs no gene."""
    if frozenset() in complexes:
        return ""
    # A complex that holds another one whole adds nothing to the rule.
    smallest = [item for item in complexes if not any(other < item for other in complexes)]
    ordered = sorted(smallest, key=sorted)
    if len(ordered) == 1:
        return " and ".join(sorted(ordered[0]))
    return " or ".join(f"({' and '.join(sorted(item))})" if len(item) > 1 else next(iter(item)) for item in ordered)


def all_of(complexes: Iterable[Iterable[Iterable[str]]]) -> str:
    """Return the rule for complexes, any of which is enough; each has parts, and each part genes that make it."""
    rules = []
    for parts in complexes:
        written = dict.fromkeys(_one_of(sorted(set(genes))) for genes in parts)
        rules.append(" and ".join(written) if len(written) > 1 else next(iter(written), "").strip("()"))
    distinct = list(dict.fromkeys(rule for rule in rules if rule))
    if len(distinct) == 1:
        return distinct[0]
    return " or ".join(f"({rule})" if " " in rule else rule for rule in distinct)


def _one_of(genes: list[str]) -> str:
    return genes[0] if len(genes) == 1 else f"({' or '.join(genes)})"
