"""The built-in items ``judged_answers``: questions with two answers each, one of them right.

Made for Quaver. Each question occurs four times: the right answer is A or B, and it is the longer or the
shorter of the two. A long answer says nothing more than a short one.
"""

from __future__ import annotations

from itertools import product
from typing import Any

QUESTIONS = (
    ("What is the capital of France?", "Paris", "Lyon"),
    ("How many legs does a spider have?", "Eight", "Six"),
    ("Which planet is closest to the sun?", "Mercury", "Venus"),
    ("What is 7 times 8?", "56", "54"),
    ("Who wrote Hamlet?", "William Shakespeare", "Charles Dickens"),
    ("What gas do plants take in from the air?", "Carbon dioxide", "Oxygen"),
    ("Which ocean is the largest?", "The Pacific", "The Atlantic"),
    ("How many minutes are in two hours?", "120", "100"),
    ("What is the chemical symbol of gold?", "Au", "Ag"),
    ("In which continent is Kenya?", "Africa", "Asia"),
    ("What is the square root of 81?", "9", "8"),
    ("Which language is spoken in Brazil?", "Portuguese", "Spanish"),
    ("How many days does a leap year have?", "366", "365"),
    ("What is the freezing point of water in degrees Celsius?", "0", "32"),
    ("Which animal is the largest on earth?", "The blue whale", "The elephant"),
    ("What is 15 percent of 200?", "30", "15"),
    ("Which metal is liquid at room temperature?", "Mercury", "Iron"),
    ("How many sides does a hexagon have?", "Six", "Eight"),
    ("Who painted the Mona Lisa?", "Leonardo da Vinci", "Michelangelo"),
    ("Which organ pumps blood?", "The heart", "The liver"),
    ("What is 100 minus 37?", "63", "73"),
    ("In which country is the city of Kyoto?", "Japan", "China"),
    ("Which season follows winter?", "Spring", "Autumn"),
    ("How many letters does the English alphabet have?", "26", "24"),
)
"""A question, its right answer and a wrong one."""

_PADDED = (
    "Thank you for this interesting question. After careful consideration of all aspects, the answer that "
    "one would give here is the following: {}. I hope that this explanation is helpful."
)


def rows() -> list[dict[str, Any]]:
    """The pairs, one mapping each.

    Each has ``pair`` (its number), ``question``, ``answer_a`` and ``answer_b``; and, each naming A or B,
    ``better`` (the right answer), ``longer``, and ``own``: the answer that the judge wrote, were it so. Here
    ``own`` names A in every other pair and B in the rest, whatever is right and long, so that a judge can
    have no preference for it.

    >>> [rows()[0][name] for name in ("question", "answer_a", "better", "longer")]
    ['What is the capital of France?', 'Paris.', 'A', 'B']
    """
    found = []
    for number, (right_first, right_short) in enumerate(product((True, False), repeat=2)):
        for at, (question, right, wrong) in enumerate(QUESTIONS):
            short, long = (right, wrong) if right_short else (wrong, right)
            written = {short: f"{short}.", long: _PADDED.format(long)}
            first, second = (right, wrong) if right_first else (wrong, right)
            found.append(
                {
                    "pair": f"{at + 1}-{number + 1}",
                    "question": question,
                    "answer_a": written[first],
                    "answer_b": written[second],
                    "better": "A" if right_first else "B",
                    "longer": "A" if first == long else "B",
                    "own": "A" if (at + number // 2) % 2 else "B",
                }
            )
    return found
