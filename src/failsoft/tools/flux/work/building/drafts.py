"""Proteins become a draft: by their homologs, complexes and gene rules, or by their functions with ModelSEEDpy."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from failsoft.framework.errors import Timeout, UpstreamError
from failsoft.framework.safe.redaction import redact_paths
from failsoft.framework.text import bounded
from failsoft.jobs.processes.fork_server import ending_with_this_process
from failsoft.jobs.processes.worker import progress
from failsoft.tools.flux.conditions import OPEN
from failsoft.tools.flux.failures import ModelSeedPyError
from failsoft.tools.flux.store import Recipe
from failsoft.tools.flux.work.exchanges import exchanges_of
from failsoft.tools.flux.work.facts import model_facts, model_warnings
from failsoft.tools.flux.work.making import model_of, packed
from failsoft.tools.flux.work.network import Network, sbml_universe
from failsoft.tools.flux.work.solver import rounded, solve

_COLUMNS = ("qseqid", "sseqid", "pident", "qcovhsp", "scovhsp", "bitscore")
_IDENTITY_AT_LEAST = 40.0
_COVERED_AT_LEAST = 70.0
"""Percent of the amino acids, and of both proteins' lengths: below it two proteins rarely have the same function."""
_SCORE_AT_LEAST = 0.9
"""The part of the best hit's score below which hits have other functions."""
_SPONTANEOUS = frozenset({"s0001", "S0001", "s_0001", "S_0001", "KPN_SPONT", "PP_s0001"})
"""Placeholder genes of spontaneous reactions."""
_MAINTENANCE = "ATPM"
_PROGRAM = Path(__file__).with_name("modelseedpy_builder.py")
_RESIDUES = re.compile(r"[A-Z*]{12,}")
"""What may be a part of a protein."""
_BETWEEN_ROLES = re.compile(r"\s+/\s+|\s+@\s+|\s*;\s+")
_MESSAGE_AT_MOST = 300


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


class ProteinHit(NamedTuple):
    """An alignment with a known protein: percent of identity and of both lengths covered, and diamond's score."""

    query: str
    target: str
    identity: float
    query_covered: float
    target_covered: float
    score: float


def search(sequences: Mapping[str, str], database: Path, *, program: str, limit_s: float) -> list[ProteinHit]:
    """Return the best hits of each protein. Proteins and hits go through pipes; nothing is written to the disk.

    Args:
        sequences: Proteins by id.
        database: The known proteins, in diamond's own format.
        program: The path of diamond.
        limit_s: Seconds after which it is killed.

    Raises:
        TIMEOUT: It took longer.
        UPSTREAM_ERROR: It failed.
    """
    ids = list(sequences)
    # Numbers instead of ids, which may contain anything.
    fasta = "".join(f">{index}\n{sequences[name]}\n" for index, name in enumerate(ids))
    threads = min(2, os.cpu_count() or 1)
    command = [program, *f"blastp --top 10 --evalue 1e-10 --threads {threads} --quiet --db".split(), str(database)]
    # Named, since without --query larger inputs end diamond 2.1 in a segmentation fault.
    command += ["--query", "-", "--outfmt", "6", *_COLUMNS]
    try:
        done = _run(command, fasta, limit_s)
    except subprocess.TimeoutExpired as error:
        raise Timeout(message=f"Comparing the proteins took longer than {limit_s:g} seconds.") from error
    except OSError as error:
        raise UpstreamError(message="The program that compares proteins could not be started.") from error
    if done.returncode != 0:
        raise UpstreamError(
            message="The program that compares proteins failed.",
            details={"exit_code": done.returncode, "said": done.stderr.decode(errors="replace")[-300:]},
        )
    hits = (line.split("\t") for line in done.stdout.decode().splitlines())
    return [ProteinHit(ids[int(query)], target, *map(float, numbers)) for query, target, *numbers in hits]


def _run(command: Sequence[str], text: str, limit_s: float) -> subprocess.CompletedProcess[bytes]:
    """Run a program that ends with this process, with a text as its input."""
    return subprocess.run(  # noqa: S603 - a list of our own making, no shell
        command,
        input=text.encode(),
        capture_output=True,
        timeout=limit_s,
        check=False,
        preexec_fn=ending_with_this_process(),
    )


def build_from_proteins(
    sequences: Mapping[str, str], template: str, name: str, places: Mapping[str, str], limit_s: float
) -> dict[str, Any]:
    """Return the base of a draft's recipe, its facts, and how many proteins were recognized: a task.

    Args:
        sequences: Proteins by id.
        template: The template that the universe belongs to.
        name: What the caller calls the model.
        places: The `folder` of carveme's generated data, the file of its `universe`, and the program `diamond`.
        limit_s: Seconds that diamond may take.
    """
    folder = Path(places["folder"])
    genes = gene_ids(sequences)
    progress(0, 4, "Comparing the proteins with known ones")
    hits = search(sequences, folder / "bigg_proteins.dmnd", program=places["diamond"], limit_s=limit_s)
    progress(2, 4, "Looking up their functions")
    like = _alike(hits)
    rules = _rules(_complexes(folder / "bigg_gprs.csv.gz"), {known: genes[own[0]] for known, own in like.items()})
    progress(3, 4, "Making the draft")
    network = _ruled(sbml_universe(Path(places["universe"])), rules)
    recognized = {protein for found in like.values() for protein in found}
    content = network.to_cobra(network.reactions)
    return {"recognized": len(recognized), **_draft(content, source="carveme", template=template, name=name)}


def _alike(hits: Iterable[ProteinHit]) -> dict[str, list[str]]:
    """Return the homologous proteins of each known one: the best and those nearly as good."""
    found: dict[str, list[ProteinHit]] = defaultdict(list)
    for hit in hits:
        if hit.identity >= _IDENTITY_AT_LEAST and min(hit.query_covered, hit.target_covered) >= _COVERED_AT_LEAST:
            found[hit.target].append(hit)
    best = {target: _SCORE_AT_LEAST * max(hit.score for hit in some) for target, some in found.items()}
    return {target: [hit.query for hit in some if hit.score >= best[target]] for target, some in found.items()}


@lru_cache(maxsize=1)
def _complexes(file: Path) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the protein complexes of reactions, each once; without proteins where the reaction needs none."""
    members: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = row["reaction"].removeprefix("R_"), row["model"], row["protein"]
            members[key].add(row["gene"].removeprefix("G_"))
    return tuple(
        (reaction, frozenset() if found <= _SPONTANEOUS else frozenset(f"{model}.{gene}" for gene in found))
        for (reaction, model, _), found in members.items()
    )


def _rules(complexes: Iterable[tuple[str, frozenset[str]]], genes: Mapping[str, str]) -> dict[str, str]:
    """Return the reactions with a complete complex, with their gene rules; `genes` are those of the known proteins."""
    isozymes: dict[str, set[frozenset[str]]] = defaultdict(set)
    for reaction, proteins in complexes:
        if proteins <= genes.keys():
            isozymes[reaction].add(frozenset(genes[protein] for protein in proteins))
    return {reaction: any_of(found) for reaction, found in isozymes.items()}


def _ruled(universe: Network, rules: Mapping[str, str]) -> Network:
    """Return the reactions found, biomass and maintenance, and the boundary reactions of their metabolites."""
    names = [name for name in universe.reactions if name in rules]
    names += [name for name in (_MAINTENANCE, universe.objective) if name in universe.reactions and name not in rules]
    touched = {metabolite for name in names for metabolite in universe.reactions[name].coefficients}
    names += [
        name
        for name, item in universe.reactions.items()
        if item.is_boundary and not touched.isdisjoint(item.coefficients)
    ]
    reactions = {name: replace(universe.reactions[name], genes=rules.get(name, "")) for name in dict.fromkeys(names)}
    return Network(universe.metabolites, reactions, universe.objective)


def build_from_functions(
    sequences: Mapping[str, str],
    functions: Mapping[str, str],
    template: str,
    name: str,
    places: Mapping[str, str],
    limit_s: float,
) -> dict[str, Any]:
    """Return the base of a draft's recipe, and its facts: a task.

    Args:
        sequences: Proteins by id.
        functions: Their functional roles by id.
        template: The name of a template of ModelSEED.
        name: What the caller calls the model.
        places: The `python` that has ModelSEEDpy, this one if empty, and the file of the `template`.
        limit_s: Seconds after which it is killed.

    Raises:
        MODELSEEDPY_ERROR: It raised an exception, or ended without an answer.
    """
    progress(0, 2, "Building with ModelSEEDpy")
    genes = gene_ids(sequences)
    order = {
        "sequences": {genes[protein]: sequence for protein, sequence in sequences.items()},
        "functions": {genes[protein]: _roles(function) for protein, function in functions.items()},
        "template": places["template"],
    }
    try:
        done = _run([places["python"] or sys.executable, str(_PROGRAM)], json.dumps(order), limit_s)
        said: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        said = {"exception_type": "TimeoutExpired", "exception_message": f"it took longer than {limit_s:g} seconds"}
    except (OSError, ValueError) as error:
        said = {"exception_type": type(error).__name__, "exception_message": "its process ended without an answer"}
    if "model" not in said:
        text = str(said.get("exception_message", ""))  # shown without paths of this server and without sequences
        raise ModelSeedPyError(
            operation=str(said.get("operation", "start")),
            exception_type=str(said.get("exception_type", "Exception")),
            exception_message=bounded(_RESIDUES.sub("<sequence>", redact_paths(text)), _MESSAGE_AT_MOST),
            template_requested=template,
        )
    progress(1, 2, "Making the draft")
    return _draft(said["model"], source="modelseedpy", template=template, name=name)


def _roles(function: str) -> list[str]:
    """Return the roles in a function: several are written with ` / `, ` @ ` or `; `, and a comment after `#`."""
    return [part.strip() for part in _BETWEEN_ROLES.split(function.partition("#")[0]) if part.strip()]


def _draft(content: Mapping[str, Any], *, source: str, template: str, name: str) -> dict[str, Any]:
    """Return the base of a draft's recipe, its facts, its growth per hour with all nutrients, and warnings.

    Args:
        content: The draft, as `cobra.io.model_to_dict` gives it.
        source: What it was built from: `carveme` or `modelseedpy`.
        template: The name of the template.
        name: What the caller calls the model.
    """
    base = packed({**content, "id": template, "name": name}, source=source, template=template)
    model = model_of(Recipe(base))
    with model:
        for exchange in exchanges_of(model).exchanges:
            model.reactions.get_by_id(exchange.reaction_id).bounds = (-OPEN, OPEN)
        growth = rounded(model.solver.objective.value) if solve(model) == "optimal" else 0.0
    warnings = model_warnings(model)
    if not growth:
        warnings.append("The draft does not grow even with every nutrient available: fill its gaps with gapfill_model.")
    return {
        "base": base,
        "facts": {**model_facts(model), "source": source, "template": template},
        "growth": growth,
        "warnings": warnings,
    }
