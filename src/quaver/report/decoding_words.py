"""How answers were sampled, in words that the record of the instrument bears out.

A knob that was not sent is never reported as if it had been: the provider's own default counted then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quaver.core.number_format import enumeration
from quaver.report.page_templates import phrases


def decodings_in_words(lock: Mapping[str, Any]) -> dict[str, str]:
    """By decoding, how its answers were sampled; of models that were asked differently, each by its name."""
    records = lock.get("collection", {}).get("instrument", {})
    say, result = phrases("decoding.txt"), {}
    for name, asked in lock.get("decodings", {}).items():
        models = dict.fromkeys(
            str(condition["model"])
            for condition in lock.get("conditions", ())
            if condition.get("decoding") == name and not condition.get("follow_up")
        ) or dict.fromkeys(lock.get("models", {}))
        by_words: dict[str, list[str]] = {}
        for model in models:
            record = records.get(model, {}).get(name)
            is_function = lock.get("models", {}).get(model, {}).get("engine") == "function"
            if record is not None:
                words = say("sent", record["knobs"], record["calls"])
            elif is_function:
                words = "as the function itself decodes: it is given no temperature and no limit"
            else:
                words = say("asked", asked)
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
        for decoding in decodings.values():
            for host, calls in decoding.get("hosts", {}).items():
                hosts[host] = hosts.get(host, 0) + calls
        if hosts:
            ranked = sorted(hosts.items(), key=lambda pair: (-pair[1], pair[0]))
            named = enumeration(f"{host} ({calls:,} answers)" for host, calls in ranked)
            result.append(f"“{model}” was answered by {named}")
    return result
