"""Single answers from the store, read without ever holding more of a huge one than is shown."""

from __future__ import annotations

import json
import sqlite3
from codecs import iterdecode
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from quaver.collect.store.read_only import open_to_read
from quaver.collect.store.response_tables import COLUMNS, WRITTEN, response_of
from quaver.core.records import LabelSet, Response, Variant
from quaver.score.parsing.evaluator import Answer, Reader
from quaver.score.parsing.label_forms import forms_of
from quaver.score.parsing.parsed_answer import plain
from quaver.view.study_index import Index

LONGEST = 200_000
"""Characters of a text that a document holds at the most."""
_PIECE = 1 << 20
_BYTES_A_CHARACTER = 4

_FACTS = f"""
    SELECT r.id, r.prompt, r.seed, r.finish, r.error, r.prompt_tokens, r.cached_tokens, r.completion_tokens,
           r.thinking_tokens, r.latency, r.received, r.served_model, lower(hex(r.key)) AS key,
           s.reused, s.model, {WRITTEN} AS written,
           CASE WHEN json_valid(s.provenance) THEN json_extract(s.provenance, '$.batch') IS NOT NULL END batch
    FROM responses r LEFT JOIN sources s ON s.id = r.source WHERE r.id = ?"""


_FURTHER = """
    SELECT c.follow_up, a.response FROM conditions c JOIN calls a ON a.condition = c.position
    WHERE c.parent IS NOT NULL AND a.parent = ? ORDER BY c.follow_up"""


class Part(NamedTuple):
    """The beginning of a long text.

    Attributes:
        text: As much of it as was asked for.
        whole: Whether that is all.
        size: Bytes of all of it.
    """

    text: str
    whole: bool
    size: int


@contextmanager
def stored(index: Index) -> Iterator[sqlite3.Connection | None]:
    """The store of an index, only read; None where there is none."""
    path = Path(index.design.store) if index.design.store else None
    if path is None or not path.exists():
        yield None
        return
    with closing(open_to_read(path, check_same_thread=False)) as db:
        db.row_factory = sqlite3.Row
        yield db


def facts_of(db: sqlite3.Connection, number: int) -> dict[str, Any] | None:
    """What is stored beside a response's texts."""
    row = db.execute(_FACTS, (number,)).fetchone()
    return None if row is None else dict(row)


def follow_ups_of(db: sqlite3.Connection, number: int) -> dict[str, int]:
    """The numbers of the responses to further calls about an answer, by the names of these."""
    return {str(row[0]): int(row[1]) for row in db.execute(_FURTHER, (number,))}


def beginning(db: sqlite3.Connection, table: str, column: str, number: int, longest: int = LONGEST) -> Part:
    """The first characters of a text; empty where there is none."""
    kind = db.execute(f"SELECT typeof({column}) FROM {table} WHERE id = ?", (number,)).fetchone()
    if kind is None or kind[0] == "null":
        return Part("", True, 0)
    with db.blobopen(table, column, number, readonly=True) as blob:
        size = len(blob)
        some = blob.read(min(size, _BYTES_A_CHARACTER * longest))
    text = some.decode("utf-8", "ignore" if len(some) < size else "replace")
    return Part(text[:longest], len(some) == size and len(text) <= longest, size)


def pieces(db: sqlite3.Connection, column: str, number: int) -> Iterator[str]:
    """A text of a response in pieces."""
    kind = db.execute(f"SELECT typeof({column}) FROM responses WHERE id = ?", (number,)).fetchone()
    if kind is None or kind[0] == "null":
        return
    with db.blobopen("responses", column, number, readonly=True) as blob:
        yield from iterdecode(iter(lambda: blob.read(_PIECE), b""), "utf-8", "replace")


def whole_response(db: sqlite3.Connection, number: int) -> Response | None:
    """A response as evaluators read it."""
    row = db.execute(f"SELECT {COLUMNS} FROM responses WHERE id = ?", (number,)).fetchone()
    return None if row is None else response_of(tuple(row))


def messages_of(db: sqlite3.Connection, number: int) -> list[dict[str, Any]]:
    """The messages of a prompt as they were sent, long ones cut."""
    part = beginning(db, "prompts", "messages", number, 20 * LONGEST)
    if not part.text:
        return []
    messages = json.loads(part.text) if part.whole else [("user", part.text)]
    return [
        {"role": role, "content": text[:LONGEST], "length": len(text), "cut": len(text) > LONGEST}
        for role, text in messages
    ]


def excerpts(index: Index, numbers: Sequence[int | None], longest: int) -> list[str | None]:
    """The beginnings of some answers; None where there is none."""
    with stored(index) as db:
        if db is None:
            return [None] * len(numbers)
        return [beginning(db, "responses", "text", one, longest).text if one else None for one in numbers]


_LONGEST = 50_000
_MOST_MENTIONS = 100
_COVER = "▮"

Place = tuple[int, int]


def spans_of(
    response: Response, reader: Reader, labels: LabelSet, variant: Variant
) -> tuple[list[Place], bool]:
    """The characters of a response's text that a reader's label rests on.

    Returns:
        The first character of each place, and the one after its last; and whether the label is read there and
        nowhere else, otherwise one of these places was enough. No places where they cannot be found.
    """
    answer = Answer(response)
    if not answer.text or len(answer.text) > _LONGEST:
        return [], True
    mentions = islice(forms_of(labels, variant).mentions(answer), _MOST_MENTIONS)
    places = [(mention.start, mention.end) for mention in mentions if mention.codes]
    whole = _read(reader, answer)
    needed = [place for place in places if _read(reader, _covered(answer, [place])) != whole]
    if not needed and _read(reader, _covered(answer, places)) == whole:
        return [], True
    return _in_response(needed or places, answer, response), bool(needed)


def _read(reader: Reader, answer: Answer) -> tuple[object, ...]:
    reading = reader(answer)
    return reading.label, reading.status, reading.confidence


def _covered(answer: Answer, places: Sequence[Place]) -> Answer:
    """An answer with other characters at some places."""
    text = answer.text
    for start, end in reversed(places):
        text = f"{text[:start]}{_COVER * (end - start)}{text[end:]}"
    other = answer.cut(len(answer.text))
    other.text = text
    return other


def _in_response(places: Sequence[Place], answer: Answer, response: Response) -> list[Place]:
    """The same places in the text as it came, of which an answer is a part in plainer characters."""
    plainer = [(char, index) for index, raw in enumerate(response.text) for char in plain(raw)]
    first = "".join(char for char, _ in plainer).rfind(answer.text)  # what comes before it was thinking
    if first < 0:
        return []
    at = [index for _, index in plainer[first:]]
    return [(at[start], at[end - 1] + 1) for start, end in places]
