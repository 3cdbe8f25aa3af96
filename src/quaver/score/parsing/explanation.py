"""Where an answer's explanation begins."""

from __future__ import annotations

import re

from quaver.score.parsing.parsed_answer import Answer

__all__ = ["before_explanation"]

_WORD = re.compile(r"\bexplanation\b")


def before_explanation(answer: Answer) -> Answer:
    """The answer up to the word "explanation", whatever its case; all of it where there is none."""
    found = _WORD.search(answer.folded)
    return answer.cut(found.start()) if found else answer
