"""Keys of a study file that stand in the wrong part, or that other tools have: where they belong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "decoding": (
        *("temperature", "top_p", "top_k", "min_p", "repeat_penalty"),
        *("max_tokens", "stop", "constraint", "logprobs"),
    ),
    "task": ("labels", "level"),
    "items": ("source", "id", "text", "gold", "groups", "group", "coders", "where", "encoding", "separator"),
    "prompt": ("system", "layout", "instruction", "postfix", "answers"),
    "budget": ("calls", "tokens", "money", "seconds"),
}
"""The part of a study file to which a key belongs."""

_ELSEWHERE: Final[Mapping[str, str]] = {
    "model": "models: [openai/gpt-5-mini]",
    "provider": "models: [openai/gpt-5-mini]",
    "paraphrases": "variants: [{use: paraphrases, engine: surface}]",
    "prompts": 'variants: [{use: instructions, texts: {curt: "Positive or negative?"}}]',
    "metrics": "measures: [accuracy, inter_pss]",
    "runs": "repeats: 3",
    "data": 'items: {source: texts.csv, text: "{{ text }}"}',
    "texts": 'items: {source: texts.csv, text: "{{ text }}"}',
    "system_prompt": "prompt: {system: …}",
    "template": "prompt: {layout: …}",
    "parser": "evaluators: [first_label]",
}
"""What other tools call something, as a study file says it."""


def belongs(key: str, value: Any) -> str | None:
    """Where a key belongs that is known somewhere else, with its value there; None for any other.

    >>> belongs("temperature", 0.7)
    'it belongs to a decoding: `decoding: {greedy: {temperature: 0.7}}`'
    >>> belongs("labels", ["a", "b"])
    'it belongs under task: `task: {labels: ["a", "b"]}`'
    """
    part = next((part for part, keys in _PARTS.items() if key in keys), None)
    shown = json.dumps(value, ensure_ascii=False, default=str)
    shown = shown if len(shown) <= 60 else "…"
    if part == "decoding":
        return f"it belongs to a decoding: `decoding: {{greedy: {{{key}: {shown}}}}}`"
    if part is not None:
        return f"it belongs under {part}: `{part}: {{{key}: {shown}}}`"
    return f"write `{_ELSEWHERE[key]}`" if key in _ELSEWHERE else None
