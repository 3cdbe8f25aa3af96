"""How answers were sampled, in words that the record of the instrument bears out.

A knob that was not sent is never reported as if it had been: the provider's own default counted then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from quaver.core.number_format import enumeration
from quaver.core.rows import grouped
from quaver.report.page_templates import phrases


def decodings_in_words(lock: Mapping[str, Any]) -> dict[str, str]:
    """By decoding, how its answers were sampled; of models that were asked differently, each by its name."""
    records = lock.get("collection", {}).get("instrument", {})
    say, result = phrases("decoding.txt"), {}
    for name, asked in lock.get("decodings", {}).items():
        asking = grouped(conditions_of(lock), lambda condition: condition.get("decoding")).get(name, ())
        models = [str(condition["model"]) for condition in asking] or lock.get("models", {})

        def in_words(model: str, name: str = name, asked: Mapping[str, Any] = asked) -> str:
            record = records.get(model, {}).get(name)
            if record is not None:
                return say("sent", record["knobs"], record["calls"])
            if lock.get("models", {}).get(model, {}).get("engine") == "function":
                return "as the function itself decodes: it is given no temperature and no limit"
            return say("asked", asked)

        by_words = grouped(dict.fromkeys(models), in_words)
        parts = [f"{words} ({enumeration(some)})" for words, some in by_words.items()]
        result[name] = "; ".join(parts if len(parts) > 1 else by_words)
    return result


def conditions_of(lock: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The conditions of a design, but for those of follow-ups."""
    return [condition for condition in lock.get("conditions", ()) if not condition.get("follow_up")]


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
        hosts = Counter[str]()
        for decoding in decodings.values():
            hosts.update(decoding.get("hosts", {}))
        if hosts:
            ranked = sorted(hosts.items(), key=lambda pair: (-pair[1], pair[0]))
            named = enumeration(f"{host} ({calls:,} answers)" for host, calls in ranked)
            result.append(f"“{model}” was answered by {named}")
    return result
