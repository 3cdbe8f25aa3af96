"""A prompt, for plug-ins that vary prompts."""

from __future__ import annotations

from quaver.core.records import Item, Label, LabelSet, Variant
from quaver.design.paraphrase.paraphraser import PromptContext

LABELS = LabelSet(
    (Label("pos", "positive", "It likes it.", ("good",)), Label("neg", "negative", "Not.", ("bad",)))
)
PROMPT = Variant(
    id="",
    factors={},
    system="You code texts.",
    layout="{{ text }}\n{{ instruction }}\n{{ postfix }}",
    text="{{ text }}",
    instruction="Is it positive or negative?",
    postfix="Answer with one of: {{ answers | join(', ') }}.",
    answers={"pos": "positive", "neg": "negative"},
)
_SAMPLE = [Item(name, {"text": f"Text {name}."}, None) for name in "abc"]
_SPARE = [Item(str(n), {"text": f"Text {n}."}, ("pos", "neg")[n % 2]) for n in range(8)]


def context(seed: int = 1, prompt: Variant = PROMPT) -> PromptContext:
    """What a family makes its levels from: a prompt, two labels, three items and eight spare ones."""
    return PromptContext(prompt, LABELS, seed, _SPARE, sample=_SAMPLE)
