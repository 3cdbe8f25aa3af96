"""How many quotes with planted edits are placed right, and what reading them takes.

    python benchmarks/quotes.py            10,000 quotes and 10,000 invented ones; 100,000 answers

The texts are those of the documentation, in pieces of twelve sentences. A quote is five to 25 words of a
sentence, edited in one of six ways; an invented one is a sentence of another text, the words of a sentence in
another order, or a sentence with a word added or replaced.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from quaver.core.annotations import AnswerRows
from quaver.core.calls import Response
from quaver.core.label_values import Codebook, TaskField
from quaver.core.records import Condition, Item, Label, LabelSet, Variant
from quaver.score.annotation import Annotator
from quaver.score.evaluators.json_field import JsonField
from quaver.score.parsing.quotes import QuotedText

_SCANNED = {"l": "1", "o": "0", "e": "c", "m": "rn", "i": "l", "s": "5", "h": "b", "u": "n", "t": "f"}
_ADDED = ("not", "never", "hardly", "elephant", "1984")
_OTHER = ("elephants", "monarchy", "volcanic", "buttercup")


def texts() -> list[list[str]]:
    """Pieces of the documentation, each its sentences."""
    pages = sorted((Path(__file__).parents[1] / "docs").glob("*.md"))
    whole = re.sub(r"[`|#*\[\]]", " ", " ".join(page.read_text(encoding="utf-8") for page in pages))
    sentences = [one.strip() for one in re.split(r"(?<=[.!?])\s+", whole)]
    sentences = [one for one in sentences if 40 < len(one) < 300 and "  " not in one]
    return [sentences[at : at + 12] for at in range(0, len(sentences) - 12, 12)]


def _scanned(quote: str, chance: random.Random) -> str:
    return "".join(_SCANNED[one] if one in _SCANNED and chance.random() < 0.05 else one for one in quote)


def _broken(quote: str, chance: random.Random) -> str:
    words = quote.split(" ")
    at = max(range(len(words)), key=lambda place: len(words[place]))
    half = len(words[at]) // 2
    return " ".join([*words[:at], f"{words[at][:half]}-\n{words[at][half:]}", *words[at + 1 :]])


def _shortened(quote: str, chance: random.Random) -> str:
    words = quote.split(" ")
    if len(words) < 7:
        return f"… {quote} …"
    third = len(words) // 3
    return chance.choice((" … ", " ... ", " [...] ")).join(
        (" ".join(words[:third]), " ".join(words[-third:]))
    )


EDITS: dict[str, Callable[[str, random.Random], str]] = {
    "none": lambda quote, chance: quote,
    "case": lambda quote, chance: chance.choice((quote.upper(), quote.lower(), quote.title())),
    "quotation marks": lambda quote, chance: "“" + quote.replace("'", "’").replace('"', "”") + "”",
    "white space": lambda quote, chance: quote.replace(" ", "  ").replace(",", ",\n"),
    "ellipsis": _shortened,
    "hyphenation": _broken,
    "scanned": _scanned,
}
"""How a quote is edited, by name."""


def edited(number: int, seed: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """Quotes: the edit, the text, the words as they stand there, and as they are quoted."""
    chance, pieces, edits = random.Random(seed), texts(), [*EDITS]
    for count in range(number):
        piece = chance.choice(pieces)
        words = chance.choice(piece).split(" ")
        length = min(len(words), chance.randint(5, 25))
        start = chance.randrange(len(words) - length + 1)
        stretch = " ".join(words[start : start + length])
        name = edits[count % len(edits)]
        yield name, " ".join(piece), stretch, EDITS[name](stretch, chance)


def invented(number: int, seed: int = 1) -> Iterator[tuple[str, str]]:
    """Texts, and quotes that are not in them."""
    chance, pieces = random.Random(seed), texts()
    for count in range(number):
        piece = chance.choice(pieces)
        other = chance.choice([one for one in pieces if one is not piece])
        words = chance.choice(piece if count % 4 else other).split(" ")
        if count % 4 == 1:
            chance.shuffle(words)
        elif count % 4 == 2:
            words.insert(chance.randrange(1, len(words)), chance.choice(_ADDED))
        elif count % 4 == 3:
            longest = max(range(len(words)), key=lambda at: len(words[at]))
            words[longest] = chance.choice(_OTHER)
        text, quote = " ".join(piece), " ".join(words)
        if letters(quote) not in letters(text):
            yield text, quote


def letters(text: str) -> str:
    """The letters and digits of a text."""
    return re.sub(r"[\W_]+", "", text.lower())


def is_right(text: str, stretch: str, quote: str) -> bool:
    """Whether a quote is placed on the words that it was made of, or on the same ones elsewhere."""
    _, start, end, _ = QuotedText(text).place(quote)
    return start is not None and letters(text[start:end]) == letters(stretch)


def _seconds(number: int, *, evidence: bool) -> float:
    """What reading some answers takes, with or without placing their quotes."""
    field = TaskField("tone", LabelSet((Label("a", "a"), Label("b", "b"))), evidence=evidence)
    chance, pieces = random.Random(2), [" ".join(piece) for piece in texts()]
    variant = Variant("v", {}, "", "{{ text }}", "{{ text }}", "", "", {})
    annotator = Annotator(
        conditions=[Condition("m", "v", "greedy", number // len(pieces) + 1)],
        items=[Item(str(at), {}) for at in range(len(pieces))],
        variants={"v": variant},
        labels=Codebook(fields=(field,)),
        evaluators={"json_field": JsonField()},
        texts=lambda variant, item: pieces[item],
    )
    rows = []
    for count in range(number):
        text = pieces[count % len(pieces)]
        start = chance.randrange(len(text) - 80)
        answer = json.dumps({"tone": chance.choice("ab"), "tone quote": text[start : start + 80]})
        rows.append((0, count % len(pieces), count // len(pieces), Response(answer), None))
    given = [AnswerRows.of(rows[at : at + 20_000]) for at in range(0, number, 20_000)]
    begun = time.process_time()
    for some in given:
        annotator.frame(some)
    return time.process_time() - begun


def main(number: int = 10_000, answers: int = 100_000) -> None:
    """Print both tables."""
    right, of = Counter[str](), Counter[str]()
    for name, text, stretch, quote in edited(number):
        of[name] += 1
        right[name] += is_right(text, stretch, quote)
    for name in of:
        print(f"{name:16} {right[name]:,} of {of[name]:,} placed right ({right[name] / of[name]:.2%})")
    print(f"{'all':16} {right.total():,} of {of.total():,} placed right ({right.total() / of.total():.2%})")
    places = [QuotedText(text).place(quote)[0] for text, quote in invented(number)]
    print(f"invented         {sum(one != 'invented' for one in places)} of {len(places):,} placed")
    without, with_quotes = (min(_seconds(answers, evidence=one) for _ in range(3)) for one in (False, True))
    print(f"{answers:,} answers   {without:.1f} s without quotes, {with_quotes:.1f} s with them")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
