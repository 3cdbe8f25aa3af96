"""How a study was done, in words and counts that you can copy into a methods section."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from inspect import cleandoc
from itertools import takewhile
from typing import Any

from quaver.core.column_names import in_words
from quaver.core.number_format import count
from quaver.core.records import AND_PROMPT, Estimate
from quaver.core.rows import measure_of
from quaver.report.estimate_index import Results
from quaver.report.findings.effect_sentences import Clusters, clusters
from quaver.report.page_words import completeness
from quaver.report.table_rows import Table


def gold_sentences(sample: Mapping[str, Any]) -> list[str]:
    """The design with its seed, the coders with their agreement, and what is still open.

    >>> gold_sentences({"design": "simple", "drawn": 20, "population": 90, "rounds": 1, "seed": 7,
    ...     "probabilities": [0.2, 0.2], "coders": [{"coder": "ada"}], "labelled": 19})[0]
    'A gold sample of 20 of the 90 items was drawn in 1 round by simple sampling (probability 0.20; seed 7).'
    """
    if not sample.get("design"):
        return []
    low, high = sample["probabilities"]
    chances = f"probability {low:.2f}" if high - low < 1e-9 else f"probabilities {low:.2f} to {high:.2f}"
    by = f" by {' and '.join(sample['by'])}" if sample.get("by") else ""
    when = f" until {sample['date']}" if sample.get("date") else ""
    found = [
        f"A gold sample of {sample['drawn']:,} of the {sample['population']:,} items was drawn in "
        f"{count(sample['rounds'], 'round')}{when} by {sample['design']} sampling{by} ({chances}; "
        f"seed {sample['seed']})."
    ]
    lacking = sample["drawn"] - sample["labelled"]
    if not sample["labelled"] and not sample.get("agreement"):
        return [*found, "None of these items has a gold label yet."]
    coders = f"{count(len(sample['coders']), 'coder')} labelled it"
    if lacking and len(sample["coders"]) == 1:
        return [*found, f"1 coder labelled {sample['labelled']:,} of these items so far."]
    if agreement := sample.get("agreement"):
        alpha = "undefined" if agreement["value"] is None else f"{agreement['value']:.2f}"
        coders += (
            f"; {count(sample['twice'], 'item')} have labels of several coders (Krippendorff's alpha "
            f"{alpha}, {agreement['details']['percent']:.0%} of the pairs of labels agree)"
        )
    settled = Counter(dict(sample.get("decided", {})).values())
    for rule, who in (("adjudicator", "an adjudicator"), ("majority", "the majority of coders")):
        if settled[rule]:
            coders += f"; {count(settled[rule], 'disagreement')} settled by {who}"
    found.append(coders + ".")
    if lacking:
        found.append(f"{count(lacking, 'drawn item')} without a gold label so far.")
    return found


_NAMED = ("file", "served_model", "model", "base_url")
_SHOWN_HASH = 16
_DEFAULTS: Mapping[str, Any] = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}


def setting_in_words(results: Results) -> list[str]:
    """The source of the items, the models and paraphrases, and how answers were sampled."""
    lock = results.lock
    return [
        *_items(lock.get("study", {}).get("items") or {}),
        *([] if _bare(results) else _models(lock.get("models", {}))),
        *_paraphrases(results),
        *([] if results.imported else _decodings(lock)),
    ]


def _items(spec: Mapping[str, Any]) -> list[str]:
    source, sample = spec.get("source"), spec.get("sample")
    if not source:
        return []
    drawn = f"; {sample:,} were drawn at random" if isinstance(sample, int) else ""
    own = source.rpartition("/")[2] if source.startswith((".", "/")) else source
    return [f"The items are those of {own}{drawn}."]


def _models(models: Mapping[str, Mapping[str, Any]]) -> list[str]:
    models_in_words = []
    for name, facts in models.items():
        named = next((str(facts[key]) for key in _NAMED if facts.get(key)), "")
        parts = [str(facts.get("engine", "")), "" if named == name else named]
        parts += [f"SHA-256 {facts['sha256'][:_SHOWN_HASH]}…"] if facts.get("sha256") else []
        facts_in_words = ", ".join(part for part in parts if part)
        models_in_words.append(f"“{name}”" + (f" ({facts_in_words})" if facts_in_words else ""))
    if not models_in_words:
        return []
    return [f"The {'model is' if len(models_in_words) == 1 else 'models are'} {_listed(models_in_words)}."]


def _paraphrases(results: Results) -> list[str]:
    """Which engines made the paraphrases, at which temperatures or strengths, and how they were checked."""
    made: dict[str, list[Mapping[str, Any]]] = {}
    for variant in results.variants:
        for level in variant.get("origin", {}).values():
            if isinstance(level, Mapping) and level.get("engine"):
                made.setdefault(str(level["engine"]), []).append(level)
    asked = {
        str(one.get("asked", {}).get("engine")): one.get("asked", {}).get("model")
        for one in results.lock.get("paraphrases", {}).get("made", ())
    }
    engines = []
    for engine, levels in made.items():
        several = {str(sorted(map(repr, level.items()))) for level in levels}
        by = asked.get(engine)
        by = by.get("model", by.get("use")) if isinstance(by, Mapping) else by
        words = f"{len(several):,} paraphrases were made by the engine {engine}" + (
            f" (“{by}”)" if by else ""
        )
        engines.append(words + "".join(_range(levels, key) for key in ("temperature", "strength")))
    if not engines:
        return []
    flagged = sum(bool(one.get("covariates", {}).get("flagged")) for one in results.variants)
    doubt = f"; the check that the report describes doubts the meaning of {flagged:,}" if flagged else ""
    return [f"{'; '.join(engines)}{doubt}."]


def _range(levels: Sequence[Mapping[str, Any]], key: str) -> str:
    known = sorted({float(one[key]) for one in levels if isinstance(one.get(key), (int, float))})
    if not known:
        return ""
    ends = f"{known[0]:g}" if len(known) == 1 else f"{len(known)} {key}s from {known[0]:g} to {known[-1]:g}"
    return f" at {key} {ends}" if len(known) == 1 else f" at {ends}"


def _decodings(lock: Mapping[str, Any]) -> list[str]:
    asked: dict[str, set[int]] = {}
    for one in lock.get("conditions", ()):
        if one.get("follow_up"):
            continue
        asked.setdefault(str(one.get("decoding")), set()).add(int(one.get("repeats", 1)))
    own = " unless the prompt sets another limit"
    own = own if any(one.get("max_tokens") for one in lock.get("variants", ())) else ""
    decodings = []
    for name, facts in lock.get("decodings", {}).items():
        heat = facts.get("temperature")
        words = ["greedily" if heat == 0 else f"at temperature {heat:g}"] if heat is not None else []
        if facts.get("max_tokens"):
            words.append(f"at most {facts['max_tokens']:,} tokens{own}")
        words += [
            f"{key} {facts[key]}" for key, usual in _DEFAULTS.items() if key in facts and facts[key] != usual
        ]
        words += [f"ended by {' or '.join(map(repr, facts['stop']))}"] if facts.get("stop") else []
        words += ["constrained to the labels"] if facts.get("constraint") == "labels" else []
        repeats = sorted(asked.get(str(name), ()))
        words += [f"{' or '.join(map(str, repeats))} times each"] if repeats and repeats != [1] else []
        decodings.append(f"“{name}”: {', '.join(words)}")
    return [f"Answers were sampled as {'; '.join(decodings)}."] if decodings else []


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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
    who = "annotator" if _bare(results) else "model"
    every = len(results.models) * len(results.variants) * len(results.decodings)
    parts = [
        f"{_count(items.get('n', 0), 'item')}"
        + (f" ({gold} with a gold label)" if gold else "" if sample else " (none with a gold label)")
        + f" were labelled with {_count(len(results.label_names), 'label')} ({labels}; "
        f"{lock['labels'].get('level', 'nominal')}) by {_count(len(results.models), who)}, in "
        f"{_count(len(results.variants), 'prompt variant')}"
        + (
            f" ({' × '.join(f'{len(v)} of {in_words(k)}' for k, v in results.factors.items())})"
            if results.factors
            else ""
        )
        + f" and {_count(len(results.decodings), 'decoding')}: {_count(len(conditions), 'condition')}"
        + f" of their {every} combinations" * (every != len(conditions))
        + _asked(results, repeats),
        *setting_in_words(results),
        *lock.get("notes", ()),
        *([] if _bare(results) else [_parsed(results)]),
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


def _bare(results: Results) -> bool:
    """Whether there are labels alone, which people may have given."""
    return results.imported and not results.has_raw_answers


def _parsed(results: Results) -> str:
    """How labels were read in the answers."""
    said = f"Each answer was parsed by {_count(len(results.evaluators), 'evaluator')}"
    said += f" ({', '.join(results.evaluators)})" if len(results.evaluators) > 1 else ""
    if results.evaluators:
        said += f"; unless stated differently, figures use the labels of {results.evaluators[0]}"
    return f"{said}."


def departures(lock: Mapping[str, Any]) -> list[str]:
    """Where a study departs from the design that was written down, or leaves out answers that are stored."""
    frozen, outside = lock.get("frozen", {}), lock.get("collection", {}).get("outside")
    return [
        *([str(frozen["headline"])] if frozen and not frozen["as_frozen"] else []),
        *([str(outside)] if outside else []),
    ]


def _excluded(results: Results) -> list[str]:
    """What estimates exclude, by kind."""
    kinds = dict.fromkeys(f"“{kind.replace('_', ' ')}”" for _, kind, *_ in left_out(results))
    return [f"Some estimates leave out answers, and count them, as {_listed([*kinds])}."] if kinds else []


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
    asked += [measure_of(name) or name for name in results.measures]
    sentences = [f"The measures are {', '.join(dict.fromkeys(asked))}."] if asked else []
    sentences += [f"They are defined as follows: {'; '.join(cited)}."] if cited else []
    accurate = [one.method.partition(";")[0] for one in results.estimates if one.measure == "accuracy"]
    ways = dict.fromkeys(one.replace("unanswered", "answers without a label") for one in accurate if one)
    return sentences + ([f"Accuracy is the {' or the '.join(ways)}."] if ways else [])


def _measured_with(results: Results) -> list[str]:
    """Intervals, seed and versions, in a sentence each."""
    levels = sorted({one.confidence_level for one in results.estimates if one.low is not None})
    parts = []
    if levels:
        percents = " and ".join(f"{100 * level:g}%" for level in levels)
        parts.append(f"Intervals are {percents} intervals{_over(results.estimates)}.")
        parts += [_too_narrow(one) for one in clusters(results.audit)[:_WIDEST]]
    software = ", ".join(f"{name} {version}" for name, version in results.lock.get("versions", {}).items())
    parts.append(f"The root seed is {results.seed}" + (f"; the software, {software}." if software else "."))
    return parts


def _too_narrow(one: Clusters) -> str:
    """What an author has to say of groups that no interval allows for, and whose interval it is."""
    who = f"items of one {one.column}" if one.kind == "columns" else "items with nearly the same text"
    return (
        f"They do not allow for {who} being labelled alike: that of their {one.estimate.details['quantity']} "
        f"(intraclass correlation {one.estimate.value or 0.0:.2f}) is too narrow by a factor of about "
        f"{one.wider:.1f}."
    )


def _over(estimates: Iterable[Estimate]) -> str:
    """Over what intervals generalise, and the measures whose intervals hold for other prompts."""
    known = [one for one in estimates if one.low is not None]
    units = " or the ".join(dict.fromkeys(f"{one.unit.removesuffix(AND_PROMPT)}s" for one in known))
    fixed = any(one.estimand == "fixed" for one in known)
    parts = [f"over the {units} and hold for these prompts"] if fixed else []
    for estimand, words in _OTHERS.items():
        measures = dict.fromkeys(one.measure for one in known if one.estimand == estimand)
        whose = f"those of {', '.join(measures)} are " if parts else ""
        if measures:
            parts.append(f"{whose}over the {units} and the prompts and hold for {words}")
    return f" {'; '.join(parts)}" if parts else ""


_OTHERS = {"population": "prompts like these", "next": "the next prompt or as many"}


def _taken(cost: Table) -> list[str]:
    """Calls, tokens and money, a sentence a model."""
    sentences = []
    for row in cost.rows:
        of = dict(zip(cost.columns, row, strict=True))
        money = of["US dollars"]
        paid = {"unknown": "at an unknown price", "0": "at no charge"}.get(money, f"for ${money}")
        tokens = f" with {of['tokens read']} tokens read and {of['tokens written']} written, {paid}"
        if of["tokens read"] == of["tokens written"] == "0" and money == "unknown":
            tokens = "; its tokens and their price are not known"
        sentences.append(f"“{of['model']}” answered {of['calls']} calls ({of['errors']} errors){tokens}.")
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
    if collection.get("total") and not collection.get("rounds"):
        parts.append(f"{completeness(collection)}.")
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
        for kind, number in one.excluded.items():
            total[one.measure, str(kind)] += int(number)
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
