"""The tables of the most unstable items and paraphrases."""

from __future__ import annotations

from typing import Any

import pytest

from quaver.report.page.worst_tables import worst_paraphrases_table

MESSAGES = [["system", "Answer."], ["user", "Text: {{ odd }} text.\nIs it A or B, then?\nAnswer:"]]
LAYOUT = "Text: {{ text }}\n{{ instruction }}\n{{ postfix }}\nAnswer:"


@pytest.mark.parametrize(
    ("instruction", "asked"),
    [
        ("Is it A or B, then?", "Is it A or B, then?"),
        ("Is it {{ answers | join(' or ') }}, then?", "Is it A or B, then?"),
        ("Is it {% for a in answers %}{{ a }}{% endfor %}", "Is it A or B, then?"),
        ("Text: {{ odd }}", "Text: {{ odd }} text.\nIs it A or B, then?"),
        ("", MESSAGES[1][1]),
        ("Was it {{ answer }}?", "Was it {{ answer }}?"),  # not in the prompt as it was asked
    ],
)
def test_a_paraphrase_is_shown_as_it_was_asked(make: Any, instruction: str, asked: str) -> None:
    study = make()
    for variant in study.lock["variants"]:
        variant |= {"instruction": instruction, "example": MESSAGES, "layout": LAYOUT}
    table = worst_paraphrases_table(study.results(), study.deviations())
    assert {row[table.columns.index("instruction")] for row in table.rows} == {asked}
