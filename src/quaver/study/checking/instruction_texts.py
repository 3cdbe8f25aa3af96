"""The instruction of a check, and other words for it that need no model and keep its meaning."""

from __future__ import annotations

from typing import Final

from quaver.design.prompts.templates import literal
from quaver.errors import QuaverError

PLAIN: Final = "Which label fits this text best?"
"""The instruction where none is given."""

_OTHER_WORDS: Final = {
    "choose": "Choose the label that fits this text best.",
    "read": "Read this text and decide which label fits it.",
    "give": "What label would fit this text best?",
    "what": "What is the best label for this text?",
    "describes": "Which of the labels describes this text best?",
    "pick": "Pick the label that best matches this text.",
    "these": "Which of these labels is best for this text?",
    "assign": "Assign to this text the label that fits it.",
    "please": "Please name the label that fits this text.",
}
"""Other words for the plain instruction."""

_FRAMES: Final = {
    "read": "Read the text above. {}",
    "task": "Your task: {}",
    "carefully": "Look at the text above carefully. {}",
    "about": "This is about the text above. {}",
    "instruction": "Follow this instruction. {}",
    "decide": "Decide for the text above. {}",
    "labelling": "You are labelling texts. {}",
    "consider": "Consider the text above. {}",
    "please": "Please help with the text above. {}",
}
"""What may stand before any instruction, be it a question or a request, without changing what it asks."""

MOST: Final = 1 + len(_OTHER_WORDS)
"""The most instructions, the original among them."""


def instruction_texts(own: str | None, n: int) -> dict[str, str]:
    """Templates of an instruction in ``n`` forms by name, the original first.

    The user's own instruction keeps its words, behind a different opening in each.

    >>> instruction_texts("Is it {good}?", 2)
    {'original': 'Is it {good}?', 'read': 'Read the text above. Is it {good}?'}
    """
    if not 1 <= n <= MOST:
        raise QuaverError(
            "so many prompts cannot be made",
            where="prompts",
            expected=f"1 to {2 * MOST}",
            found=str(2 * n),
            fix="take fewer, and add your own to the study file that this writes",
        )
    if own is None:
        return dict([("original", PLAIN), *_OTHER_WORDS.items()][:n])
    text = literal(own.strip())
    framed = {name: frame.replace("{}", text) for name, frame in _FRAMES.items()}
    return dict([("original", text), *framed.items()][:n])
