"""Items, models, paraphrases and decodings of a study, in sentences for its methods section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from quaver.report.estimate_index import Results

_NAMED = ("file", "served_model", "model", "base_url")
_SHOWN_HASH = 16
_DEFAULTS: Mapping[str, Any] = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}


def setting_in_words(results: Results) -> list[str]:
    """The source of the items, the models and paraphrases, and how answers were sampled."""
    lock = results.lock
    return [
        *_items(lock.get("study", {}).get("items") or {}),
        *_models(lock.get("models", {})),
        *_paraphrases(results),
        *([] if results.imported else _decodings(lock)),
    ]


def _items(spec: Mapping[str, Any]) -> list[str]:
    source, sample = spec.get("source"), spec.get("sample")
    if not source:
        return []
    drawn = f"; {sample:,} were drawn at random" if isinstance(sample, int) else ""
    return [f"The items are those of {source}{drawn}."]


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
