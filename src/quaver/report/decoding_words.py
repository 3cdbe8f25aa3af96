"""How answers were sampled, in words that the record of the instrument bears out.

A knob that was not sent is never reported as if it had been: the provider's own default counted then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quaver.core.number_format import enumeration

_LOCAL: Mapping[str, Any] = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
"""Cut-offs that change nothing."""

_REFUSED, _UNSENT = "not settable for this model", "none was sent"


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
            words = _of_model(asked, records.get(model, {}).get(name), lock, model)
            by_words.setdefault(", ".join(words), []).append(model)
        if len(by_words) == 1:
            result[name] = next(iter(by_words))
        else:
            result[name] = "; ".join(f"{words} ({enumeration(some)})" for words, some in by_words.items())
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
            ranked = sorted(hosts.items(), key=lambda pair: -pair[1])
            named = enumeration(f"{host} ({calls:,} answers)" for host, calls in ranked)
            result.append(f"“{model}” was answered by {named}")
    return result


def _of_model(
    asked: Mapping[str, Any], record: Mapping[str, Any] | None, lock: Mapping[str, Any], model: str
) -> list[str]:
    engine = lock.get("models", {}).get(model, {}).get("engine")
    if record is None and engine == "function":
        return ["as the function itself decodes: it is given no temperature and no limit"]
    if record is None:
        return list(_as_asked(asked))
    return list(_as_sent(record["knobs"], record["calls"]))


def _as_asked(asked: Mapping[str, Any]) -> Iterator[str]:
    """What an engine heeds that keeps no record, since nothing stands between it and the study."""
    if asked.get("temperature") is not None:
        yield f"at temperature {asked['temperature']:g}"
    if asked.get("max_tokens"):
        yield f"at most {asked['max_tokens']:,} tokens"
    yield from (f"{key} {asked[key]}" for key, value in _LOCAL.items() if asked.get(key, value) != value)
    if asked.get("stop"):
        yield f"ended by {' or '.join(map(repr, asked['stop']))}"
    if asked.get("constraint") == "labels":
        yield "constrained to the labels"


def _as_sent(knobs: Mapping[str, Sequence[Sequence[Any]]], calls: int) -> Iterator[str]:
    yield from _temperature(knobs.get("temperature", ()), calls)
    if levels := knobs.get("max_tokens"):
        yield _limit(levels)
    for name, words in (("top_p", "top_p {}"), ("effort", "effort “{}”"), ("stop", "ended by {}")):
        for asked, sent, state, n in knobs.get(name, ()):
            value = " or ".join(map(repr, sent)) if isinstance(sent, list) else sent
            yield (words.format(value) if sent is not None else _without(name, asked, state)) + _of(n, calls)
    for asked, sent, state, n in knobs.get("thinking", ()):
        yield (
            _without("thinking", asked, state)
            if sent is None
            else f"thinking: {_thinking(sent)}{_of(n, calls)}"
        )
    for _, sent, state, n in knobs.get("schema", ()):
        follow = " (which these answers do not follow)" if state == "ignored" else ""
        form = "constrained by the server" if sent is not None else f"unconstrained ({_why(state)})"
        yield f"{form}{follow}{_of(n, calls)}"
    if any(sent is None for _, sent, _, _ in knobs.get("seed", ())):
        yield "without a seed"


def _temperature(levels: Sequence[Sequence[Any]], calls: int) -> Iterator[str]:
    for _, sent, state, n in levels:
        if sent is None:
            yield f"at the provider's default temperature ({_why(state)}){_of(n, calls)}"
        else:
            idle = " (which made no difference)" if state == "ignored" else ""
            yield f"at temperature {sent:g}{idle}{_of(n, calls)}"


def _limit(levels: Sequence[Sequence[Any]]) -> str:
    """The limit of tokens, as it was sent."""
    sent = sorted({level[1] for level in levels if level[1] is not None})
    asked = {level[0] for level in levels}
    if not sent:
        return "without a limit of tokens"
    limit = f"at most {sent[0]:,} tokens" if len(sent) == 1 else f"at most {sent[0]:,} to {sent[-1]:,} tokens"
    room = len(asked) == 1 and (most := next(iter(asked))) is not None and sent[-1] >= most + 1024
    return f"{limit}, thinking included" if room else limit


def _without(name: str, asked: Any, state: str) -> str:
    return f"the provider's default {name.replace('_', ' ')} (asked for {asked}, {_why(state)})"


def _why(state: str) -> str:
    return _REFUSED if state == "refused" else _UNSENT


def _thinking(sent: Any) -> str:
    if isinstance(sent, Mapping):
        return (
            f"at most {sent['budget_tokens']:,} tokens" if "budget_tokens" in sent else str(sent.get("type"))
        )
    return str(sent)


def _of(n: int, calls: int) -> str:
    return f" in {n:,} of {calls:,} calls" if n < calls else ""
