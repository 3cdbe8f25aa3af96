"""How a study was done, in words and counts that you can copy into a methods section."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from inspect import cleandoc
from itertools import takewhile
from typing import Any

from quaver.core.records import AND_PROMPT, Estimate
from quaver.report.estimate_index import Results
from quaver.report.findings.clusters import Clusters, clusters
from quaver.report.page.gold_words import gold_sentences
from quaver.report.page.settings import setting_in_words
from quaver.report.table_rows import Table

_YEAR = re.compile(r"\s*\(\d{4}[a-z]?\)")
_BEFORE = re.compile(r": | as in ")
_WIDEST = 2
"""Undeclared groups that are named, those that matter most."""
_FEW = 4
"""Measures that are named before a reference; the list of references has all."""


def method_paragraph(results: Results, cost: Table) -> str:
    """What was asked, of which models, how often, how it was parsed and measured, and what it cost."""
    lock = results.lock
    items = lock.get("items", {})
    conditions = [one for one in lock.get("conditions", ()) if not one.get("follow_up")]
    gold = sum(items.get("gold", {}).values())
    sample = gold_sentences(lock.get("gold_sample", {}))
    labels = ", ".join(results.label_names.values())
    repeats = sorted({c["repeats"] for c in conditions})
    parts = [
        f"{_count(items.get('n', 0), 'item')}"
        + (f" ({gold} with a gold label)" if gold else "" if sample else " (none with a gold label)")
        + f" were labelled with {_count(len(results.label_names), 'label')} ({labels}; "
        f"{lock['labels'].get('level', 'nominal')}) by {_count(len(results.models), 'model')}, in "
        f"{_count(len(results.variants), 'prompt variant')}"
        + (
            f" ({' × '.join(f'{len(v)} of {k}' for k, v in results.factors.items())})"
            if results.factors
            else ""
        )
        + f" and {_count(len(results.decodings), 'decoding')}: {_count(len(conditions), 'condition')}"
        + _asked(results, repeats),
        *setting_in_words(results),
        *lock.get("notes", ()),
        f"Each answer was parsed by {_count(len(results.evaluators), 'evaluator')}"
        + (f" ({', '.join(results.evaluators)})" if len(results.evaluators) > 1 else "")
        + (
            f"; unless stated differently, figures use the labels of {results.evaluators[0]}."
            if results.evaluators
            else "."
        ),
    ]
    followed = lock.get("follow_ups", {})
    if followed:
        parts.append(f"Follow-up questions were asked: {', '.join(map(str, followed))}.")
    parts += sample
    if frozen := lock.get("frozen"):
        parts.append(str(frozen["headline"]))
    parts += _collected({} if results.imported else lock.get("collection", {}))
    edits = lock.get("paraphrases", {}).get("edits", ())
    if edits:
        parts.append(f"{_count(len(edits), 'edit')} by hand changed paraphrases; the report lists them.")
    parts += [*_cited(results), *_excluded(results), *_measured_with(results), *_taken(cost)]
    return " ".join([*parts, *_bundled(results)])


def departures(lock: Mapping[str, Any]) -> list[str]:
    """Where a study departs from the design that was written down, or leaves out answers that are stored."""
    frozen, outside = lock.get("frozen", {}), lock.get("collection", {}).get("outside")
    return [
        *([str(frozen["headline"])] if frozen and not frozen["as_frozen"] else []),
        *([str(outside)] if outside else []),
    ]


def _excluded(results: Results) -> list[str]:
    """What estimates exclude, by kind."""
    kinds = dict.fromkeys(kind.replace("_", " ") for _, kind, *_ in left_out(results))
    return [f"Some estimates exclude answers and count them: {', '.join(kinds)}."] if kinds else []


def _cited(results: Results) -> list[str]:
    """Which measures follow which paper, by its authors and year, in one sentence."""
    cited = []
    for reference, measures in references(results.estimates).items():
        year = _YEAR.search(reference)
        if year is None:
            continue
        names = measures.split(", ")
        words = zip(*(name.split("_") for name in names), strict=False)
        family = "_".join(some[0] for some in takewhile(lambda some: len(set(some)) == 1, words))
        named = measures if len(names) <= _FEW else family or f"{', '.join(names[:_FEW])} and others"
        authors = _BEFORE.split(reference[: year.start()])[-1]
        cited.append(f"{named} after {authors} {year.group().strip()}")
    asked = [str(one.get("use", "")) for one in results.lock.get("study", {}).get("measures") or ()]
    asked = asked or results.measures
    sentences = [f"The measures are {', '.join(dict.fromkeys(asked))}."] if asked else []
    return sentences + ([f"Their definitions: {'; '.join(cited)}."] if cited else [])


def _measured_with(results: Results) -> list[str]:
    """Intervals, seed and versions, in a sentence each."""
    levels = sorted({one.confidence_level for one in results.estimates if one.low is not None})
    parts = []
    if levels:
        percents = " and ".join(f"{100 * level:g}%" for level in levels)
        parts.append(f"Intervals are {percents} intervals{_over([*results.estimates, *results.audit])}.")
        parts += [_too_narrow(one) for one in clusters(results.audit)[:_WIDEST]]
    software = ", ".join(f"{name} {version}" for name, version in results.lock.get("versions", {}).items())
    parts.append(f"The root seed is {results.seed}" + (f"; the software, {software}." if software else "."))
    return parts


def _too_narrow(one: Clusters) -> str:
    """What an author has to say of groups that no interval allows for."""
    who = f"items of one {one.column}" if one.kind == "columns" else "items with nearly the same text"
    return (
        f"They do not allow for {who} being labelled alike (intraclass correlation "
        f"{one.estimate.value or 0.0:.2f}), and are too narrow by a factor of about {one.wider:.1f}."
    )


def _over(estimates: Iterable[Estimate]) -> str:
    """Over what intervals generalise, and the measures whose intervals hold for other prompts."""
    known = [one for one in estimates if one.low is not None]
    units = list(dict.fromkeys(one.unit.removesuffix(AND_PROMPT) for one in known if one.estimand == "fixed"))
    said = f" over the {' or the '.join(units)}s, for these prompts" if units else ""
    for estimand, words in _OTHERS.items():
        measures = dict.fromkeys(one.measure for one in known if one.estimand == estimand)
        if measures:
            said += f"; those of {', '.join(measures)} for {words}, over prompts too"
    return said.removeprefix(";")


_OTHERS = {"population": "prompts like these", "next": "the next prompt or as many"}


def _taken(cost: Table) -> list[str]:
    """Calls, tokens and money, a sentence a model."""
    sentences = []
    for row in cost.rows:
        of = dict(zip(cost.columns, row, strict=True))
        money = of["US dollars"]
        paid = {"unknown": "at an unknown price", "0": "at no charge"}.get(money, f"for ${money}")
        sentences.append(
            f"“{of['model']}” answered {of['calls']} calls ({of['errors']} errors) with {of['tokens read']} "
            f"tokens read and {of['tokens written']} written, {paid}."
        )
    return sentences


def _collected(collection: Mapping[str, Any]) -> list[str]:
    """How the answers were collected: in rounds, from other studies, under changed configurations."""
    parts = [collection["rounds"]] if collection.get("rounds") else []
    parts += [
        f"{calls:,} answers were reused from {study}."
        for study, calls in collection.get("reused", {}).items()
    ]
    if collection.get("outside"):
        parts.append(collection["outside"])
    missing = collection.get("total", 0) - collection.get("answered", 0)
    if missing > 0 and not collection.get("rounds"):
        parts.append(f"{missing:,} calls of the design have no answer yet.")
    elif collection.get("total") and not collection.get("rounds"):
        parts.append("The whole design was collected; no rule ended it early.")
    return parts + [f"Warning: {one}." for one in collection.get("warnings", ())]


def _bundled(results: Results) -> list[str]:
    """Where all of it is kept, if it was packed."""
    digest = results.lock.get("bundle")
    return [f"The bundle that holds all of it has the SHA-256 digest {digest}."] if digest else []


def measured(estimates: Iterable[Estimate]) -> dict[str, str]:
    """How each measure was computed, and where it is defined."""
    found: dict[str, str] = {}
    for one in estimates:
        if one.method and (one.measure not in found or one.value is not None):
            found[one.measure] = one.method + (f". {one.reference}" if one.reference else "")
    return found


def references(estimates: Iterable[Estimate]) -> dict[str, str]:
    """Where the measures are defined: the measures by their reference, both in the order of use."""
    found: dict[str, dict[str, None]] = {}
    for one in estimates:
        if one.reference:
            found.setdefault(one.reference, {})[one.measure] = None
    return {reference: ", ".join(measures) for reference, measures in found.items()}


def _asked(results: Results, repeats: Sequence[int]) -> str:
    """How many calls there were, if any."""
    calls = int(results.lock.get("calls", 0))
    if results.imported:
        what = "raw answers" if results.has_raw_answers else "labels"
        existing = f", {calls:,} {what} in all. They were imported: "
        if results.has_prompts:
            return f"{existing}how the answers were sampled is not known."
        return f"{existing}the prompts, and how the answers were sampled, are not known."
    times = f", asked {_times(repeats)}" if repeats else ""
    return f"{times}, {calls:,} calls in all" + (
        ", follow-ups among them." if results.lock.get("follow_ups") else "."
    )


def _times(repeats: Sequence[int]) -> str:
    return "once" if repeats == [1] else f"{' or '.join(map(str, repeats))} times"


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def rules(results: Results) -> dict[str, str]:
    """The evaluators' rules by name, without the indentation of the code."""
    return {str(name): cleandoc(str(rule)) for name, rule in results.lock.get("evaluators", {}).items()}


def left_out(results: Results) -> list[tuple[str, str, int, int]]:
    """What estimates exclude: measure, kind, in how many estimates, and how many in all of them."""
    total: Counter[tuple[str, str]] = Counter()
    times: Counter[tuple[str, str]] = Counter()
    for one in results.estimates:
        for kind, count in one.excluded.items():
            total[one.measure, str(kind)] += int(count)
            times[one.measure, str(kind)] += 1
    return [(measure, kind, times[measure, kind], total[measure, kind]) for measure, kind in total]


def noise_in_words(results: Results) -> str:
    """The engine's own noise in one sentence, to stand beside the stability scores."""
    counts = []
    for model, rows in results.noise.items():
        answers = sum(int(row.get("answers") or 0) for row in rows)
        other = sum(int(row.get("other_text") or 0) for row in rows)
        counts.append(f"{other} of {answers} answers of {model}")
    if results.imported:
        return "These labels were imported, so their source’s own noise is not known."
    if not counts:
        return "The engine’s own noise was not measured."
    return (
        "The engine’s own noise: when identical calls were made in other ways (cached, reordered, batched), "
        f"{' and '.join(counts)} had another text."
    )
