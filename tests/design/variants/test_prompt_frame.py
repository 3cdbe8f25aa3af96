"""Answers with words around them that say nothing: in lists, in loops, in a column, under any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.studies import resolved

from quaver.design.prompts.rendering import messages_of
from quaver.errors import SpecError

PAIR = {"id": "x", "q": "Which?", "one": "apple", "two": "pear", "answer": "plum"}


def prompts(folder: Path, text: str, *, pairs: bool = True, **more: Any) -> dict[str, str]:
    """What the model sees, by variant."""
    path = folder / "items.csv"
    path.write_text(",".join(PAIR) + "\n" + ",".join(PAIR.values()) + "\n", encoding="utf-8")
    labels: dict[str, Any] = {"labels": ["A", "B"]} | ({"options": ["one", "two"]} if pairs else {})
    padding = {"use": "padding", "before": "«", "after": '"{{ x }}\n»', **more}
    made = resolved(
        {
            "task": labels,
            "items": {"source": str(path), "id": "id", "text": text},
            "prompt": {"instruction": "Which?", "layout": "{{ text }}\n{{ instruction }}"},
            "variants": [padding, *([{"use": "option_order"}] if pairs else [])],
            "models": [{"name": "m", "use": "function"}],
        }
    )
    return {
        variant.id: messages_of(variant, made.labels, made.items[0])[-1].content for variant in made.variants
    }


@pytest.mark.parametrize(
    "text",
    [
        "{{ q }}\n{{ options }}",
        "{{ q }}\n{% for option in options %}{{ option.answer }}) {{ option.text }}"
        "{% if not loop.last %}{{ '\\n' }}{% endif %}{% endfor %}",
    ],
)
def test_one_answer_at_a_time_in_either_order(tmp_path: Path, text: str) -> None:
    found = prompts(tmp_path, text)
    pad = '«{}"{{{{ x }}}}\n»'
    assert found["padding=original,option_order=original"] == "Which?\nA) apple\nB) pear\nWhich?"
    assert found["padding=A,option_order=original"] == f"Which?\nA) {pad.format('apple')}\nB) pear\nWhich?"
    assert found["padding=A,option_order=reversed"] == f"Which?\nA) pear\nB) {pad.format('apple')}\nWhich?"
    assert found["padding=B,option_order=reversed"] == f"Which?\nA) {pad.format('pear')}\nB) apple\nWhich?"


def test_a_single_answer_is_a_column(tmp_path: Path) -> None:
    found = prompts(tmp_path, "{{ q }} {{ answer }}", pairs=False)
    assert found == {
        "padding=original": "Which? plum\nWhich?",
        "padding=padded": 'Which? «plum"{{ x }}\n»\nWhich?',
    }
    other = prompts(tmp_path, "{{ one }}: {{ item.two }}", pairs=False, answer="two")
    assert other["padding=padded"].startswith("apple: «pear")


def test_what_cannot_be_padded_says_so(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="does not show the answers"):
        prompts(tmp_path, "{{ q }}", pairs=False)
    with pytest.raises(SpecError, match="nothing to pad with"):
        prompts(tmp_path, "{{ options }}", before="", after=" ")
