"""How answers were sampled, in words that the record of the instrument bears out.

A knob that was not sent is never reported as if it had been: the provider's own default counted then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from quaver.core.number_format import enumeration

_LOCAL: Final[Mapping[str, Any]] = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
"""Cut-offs that change nothing."""

_KNOBS: Final = {
    "temperature": "at temperature {}",
    "max_tokens": "at most {} tokens",
    "top_p": "top_p {}",
    "effort": "effort “{}”",
    "thinking": "thinking: {}",
    "stop": "ended by {}",
    "schema": "constrained by the server",
}
"""What is said of each knob that was sent."""


def decodings_in_words(lock: Mapping[str, Any]) -> dict[str, str]:
    """By decoding, how its answers were sampled; of models that were asked differently, each by its name."""
    records = lock.get("collection", {}).get("instrument", {})
    result = {}
    for name, asked in lock.get("decodings", {}).items():
        models = dict.fromkeys(
            str(one["model"])
            for one in lock.get("conditions", ())
            if one.get("decoding") == name and not one.get("follow_up")
        ) or dict.fromkeys(lock.get("models", {}))
        by_words: dict[str, list[str]] = {}
        for model in models:
            record = records.get(model, {}).get(name)
            is_function = lock.get("models", {}).get(model, {}).get("engine") == "function"
            if record is not None:
                words = ", ".join(_as_sent(record["knobs"], record["calls"]))
            elif is_function:
                words = "as the function itself decodes: it is given no temperature and no limit"
            else:
                words = ", ".join(_as_asked(asked))
            by_words.setdefault(words, []).append(model)
        alone = len(by_words) == 1
        result[name] = "; ".join(
            words if alone else f"{words} ({enumeration(some)})" for words, some in by_words.items()
        )
    return result


def temperature_sent(lock: Mapping[str, Any], decoding: str) -> float | None:
    """The temperature at which a decoding's answers were sampled, where every model was sent it."""
    value = lock.get("decodings", {}).get(decoding, {}).get("temperature")
    for model in lock.get("collection", {}).get("instrument", {}).values():
        levels = model.get(decoding, {}).get("knobs", {}).get("temperature", ())
        if any(sent != value or state == "ignored" for _, sent, state, _ in levels):
            return None
    return float(value) if isinstance(value, (int, float)) else None


def hosts_in_words(lock: Mapping[str, Any]) -> list[str]:
    """Which hosts answered for a server that passes requests on."""
    result = []
    for model, decodings in lock.get("collection", {}).get("instrument", {}).items():
        hosts: dict[str, int] = {}
        for one in decodings.values():
            for host, calls in one.get("hosts", {}).items():
                hosts[host] = hosts.get(host, 0) + calls
        if hosts:
            ranked = sorted(hosts.items(), key=lambda pair: (-pair[1], pair[0]))
            named = enumeration(f"{host} ({calls:,} answers)" for host, calls in ranked)
            result.append(f"“{model}” was answered by {named}")
    return result


def _as_asked(asked: Mapping[str, Any]) -> Iterator[str]:
    """What an engine heeds that keeps no record, since nothing stands between it and the study."""
    for name in ("temperature", "max_tokens", "stop"):
        if asked.get(name) not in (None, [], ()):
            yield _KNOBS[name].format(_written(asked[name]))
    yield from (f"{key} {asked[key]}" for key, value in _LOCAL.items() if asked.get(key, value) != value)
    if asked.get("constraint") == "labels":
        yield "constrained to the labels"


def _as_sent(knobs: Mapping[str, Sequence[Sequence[Any]]], calls: int) -> Iterator[str]:
    """What was sent of each knob, and where the provider's own default counted."""
    for name, words in _KNOBS.items():
        parts: Counter[str] = Counter()
        for asked, sent, state, n in knobs.get(name, ()):
            if name == "stop" and not sent:
                continue
            why = "not settable for this model" if state == "refused" else "none was sent"
            wanted = "" if name in ("temperature", "schema") or asked is None else f"asked for {asked}, "
            default = f"the provider's default {name.replace('_', ' ')}"
            unsent = {"schema": "unconstrained", "max_tokens": "without a limit of tokens"}.get(name, default)
            idle = " (which made no difference)" if state == "ignored" else ""
            part = words.format(_written(sent)) + idle if sent is not None else f"{unsent} ({wanted}{why})"
            parts[part] += n
        for part, n in parts.items():
            yield part + (f" in {n:,} of {calls:,} calls" if n < calls else "")
    if any(sent is None for _, sent, _, _ in knobs.get("seed", ())):
        yield "without a seed"


def _written(value: Any) -> str:
    """What a knob was set to."""
    if isinstance(value, Mapping):  # a budget of thinking
        return (
            f"at most {value['budget_tokens']:,} tokens"
            if "budget_tokens" in value
            else str(value.get("type"))
        )
    if isinstance(value, (list, tuple)):
        return " or ".join(map(repr, value))
    if isinstance(value, (int, float)):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return str(value)
