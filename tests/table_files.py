"""Files of labels as people and programs leave them: of every kind, odd in every way, from a seed.

``table_files(folder, seed, count)`` writes them one after the other; a failing file is made again from its
seed alone.
"""

import csv
import gzip
import io
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import NamedTuple

import polars as pl
import xlsxwriter

__all__ = ["TableFile", "table_file", "table_files"]

_NAMES = (
    *("item", "id", "unit", "text_id", "label", "annotation", "code", "coder", "rater", "model", "decoding"),
    *("repeat", "iteration", "text", "gold", "truth", "variant", "prompt_id", "prompt", "original"),
    *("temperature", "anna", "ben", "output", "thinking", "", " ", "a b", "é", "e\u0301", "x.y", "status"),
    *("evaluator", "=1+1", "\x00", "{{ x }}", "item\n", "Label", "__class__", "variant,x", "group", "None"),
)
_TEXTS = (
    *("a", "b", "a ", " b", "A", "1", "1.0", "01", "-1", "2", "N/A", "NA", "NaN", "nan", "None", "null", ""),
    *(" ", "\u00a0", "é", "e\u0301", "{{ item }}", "{% if %}", "=1+1", "a,b", 'say "a"', "line\nbreak", "\r"),
    *("\x00", "\ufeffa", "\u202ea", "😀", "inf", "1e400", "9" * 400, "x" * 5000, "\\N", "[1]", '{"a": 1}'),
)
_ODD = (
    lambda _: None,
    lambda r: r.randrange(-3, 3),
    lambda _: 10**30,
    lambda _: 2**63,
    lambda r: r.choice([0.0, 1.0, 1.5, -0.0, 1e308, 1e-320]),
    lambda r: r.choice([float("nan"), float("inf"), float("-inf")]),
    lambda r: r.random() < 0.5,
    lambda r: [r.choice(_TEXTS)],
    lambda _: [],
    lambda _: {"a": [1, {"b": None}]},
    lambda _: {},
    lambda _: [[1], None, "x"],
)
_COLUMNS = (
    (pl.Duration, lambda r: timedelta(seconds=r.randrange(5))),
    (pl.Time, lambda r: time(r.randrange(24))),
    (pl.Date, lambda r: date(2020, 1, 1 + r.randrange(3))),
    (pl.Datetime, lambda r: datetime(2020, 1, 1 + r.randrange(3))),
    (pl.Datetime("ns", "Europe/Berlin"), lambda r: datetime(2020, 1, 1 + r.randrange(3))),
    (pl.Decimal(10, 2), lambda r: Decimal(r.randrange(3)) / 4),
    (pl.Binary, lambda r: r.choice([b"a", b"\xff\x00", b""])),
    (pl.Categorical, lambda r: r.choice("abc")),
    (pl.Enum(["a", "b", "c"]), lambda r: r.choice("abc")),
    (pl.List(pl.Int64), lambda r: [r.randrange(2)] * r.randrange(3)),
    (pl.Array(pl.Int64, 2), lambda r: [r.randrange(2)] * 2),
    (pl.Struct({"a": pl.Int64}), lambda r: {"a": r.randrange(2)}),
    (pl.Boolean, lambda r: r.random() < 0.5),
    (pl.Float32, lambda r: r.choice([0.0, 1.0, float("nan"), float("inf")])),
    (pl.UInt64, lambda r: r.choice([0, 2**64 - 1])),
    (pl.Int128, lambda r: r.choice([0, 2**100])),
    (pl.Null, lambda _: None),
    (pl.String, lambda r: r.choice(_TEXTS)),
)
_ENDINGS = (".csv", ".csv", ".tsv", ".jsonl", ".jsonl", ".parquet", ".parquet", ".xlsx")
_OTHER_ENDINGS = (".txt", ".json", ".csv.gz", "", ".CSV", ".xlsx", ".ndjson", ".tab", ".db", ".yaml")


class TableFile(NamedTuple):
    """A file, the columns that it may have, and what was done to it."""

    path: Path
    columns: list[str]
    done: str


def table_files(folder, seed, count):
    """Write ``count`` files, each from a seed of its own, and yield each when it is written."""
    for number in range(seed, seed + count):
        home = folder / str(number)
        home.mkdir()
        yield table_file(home, number)


def table_file(folder, seed):
    """Write the file of a seed."""
    random = Random(seed)
    columns = _columns(random)
    rows = [
        [_cell(random, name, at) for name in columns] for at in range(random.choice([0, 2, 6, 12, 12, 30]))
    ]
    ending = random.choice(_ENDINGS)
    content = _written(random, ending, columns, rows)
    done = ending
    if random.random() < 0.3:
        name, damage = random.choice(_DAMAGE)
        content, done = damage(random, content), f"{ending}, {name}"
    if random.random() < 0.05:
        ending = random.choice(_OTHER_ENDINGS)
        done += f", as {ending or 'no ending'}"
    path = folder / f"labels{ending}"
    path.write_bytes(content)
    return TableFile(path, columns, done)


def _columns(random):
    if random.random() < 0.7:  # of a shape that is read
        shape = random.choice(
            [
                ["item", "label"],
                ["id", "text", "annotation", "iteration"],
                ["id", "annotation", "prompt_id", "prompt", "original", "temperature"],
                ["unit", "anna", "ben"],
                ["item", "coder", "label", "gold"],
                ["item", "output", "thinking"],
            ]
        )
        found = [*shape, *random.sample(_NAMES, random.choice([0, 0, 1, 2]))]
    else:
        found = random.choices(_NAMES, k=random.randrange(6))
    return found if random.random() < 0.1 else list(dict.fromkeys(found))


def _cell(random, name, at):
    """A cell of a row: mostly what such a column holds in a table that can be read."""
    if random.random() < 0.008:
        return random.choice(_ODD)(random)
    if random.random() < 0.02:
        return random.choice(_TEXTS)
    if name in ("item", "id", "unit", "text_id"):
        return at % 6
    if name in ("text", "gold", "truth", "group"):
        return "ab"[at % 6 % 2]
    if name in ("iteration", "repeat", "prompt_id", "prompt", "coder", "rater"):
        return at // 6
    return random.choice("aab")


def _written(random, ending, columns, rows):
    if ending == ".jsonl":
        objects = [dict(zip(columns, row, strict=True)) for row in rows]
        for one in objects:
            if random.random() < 0.05 and one:
                one.pop(random.choice(list(one)))
        lines = [json.dumps(one, ensure_ascii=random.random() < 0.5) for one in objects]
        return "\n".join(lines).encode("utf-8", "surrogatepass")
    if ending == ".parquet":
        return _parquet(random, columns, rows)
    if ending == ".xlsx":
        return _xlsx(random, columns, rows)
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t" if ending == ".tsv" else random.choice(",,,,,,,,;"))
    writer.writerow(columns)
    writer.writerows(["" if cell is None else str(cell) for cell in row] for row in rows)
    return file.getvalue().encode(
        random.choice(["utf-8"] * 16 + ["utf-8-sig", "utf-16", "utf-16-le", "cp1252"]), "replace"
    )


def _xlsx(random, columns, rows):
    file = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "nan_inf_to_errors": True}
    with xlsxwriter.Workbook(file, options) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate([columns, *rows], start=random.choice([0, 0, 0, 2])):
            for at, cell in enumerate(row):
                if isinstance(cell, bool | int | float) and abs(cell) < 2**63:
                    sheet.write(number, at, cell)
                elif cell is not None:
                    sheet.write_string(number, at, str(cell)[:30_000])
        if random.random() < 0.1:
            sheet.merge_range(random.choice(["A1:B1", "A2:A4", "H1:H9"]), "x")
        if random.random() < 0.1:
            book.add_worksheet().write(0, 0, "x")
    return file.getvalue()


def _parquet(random, columns, rows):
    frame = {}
    for at, name in enumerate(dict.fromkeys(columns)):
        if random.random() < 0.12:
            kind, cell = random.choice(_COLUMNS)
            values = [cell(random) if random.random() < 0.9 else None for _ in rows]
            frame[name] = pl.Series(name, values, dtype=kind, strict=False)
        else:
            values = [row[at] if isinstance(row[at], str | None) else str(row[at]) for row in rows]
            frame[name] = pl.Series(name, values, dtype=pl.String)
    file = io.BytesIO()
    pl.DataFrame(frame).write_parquet(file)
    return file.getvalue()


def _at(random, content):
    return random.randrange(len(content) + 1)


def _flipped(random, content):
    found = bytearray(content)
    for _ in range(random.randrange(1, 9) if found else 0):
        found[random.randrange(len(found))] ^= 1 << random.randrange(8)
    return bytes(found)


def _inserted(random, content):
    at = _at(random, content)
    odd = (
        b'"',
        b"\x00",
        b"\xff",
        b"\n\n",
        b",,,",
        b"\r",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"NaN",
        b"\xef\xbb\xbf",
    )
    return content[:at] + random.choice(odd) + content[at:]


_DAMAGE = (
    ("cut", lambda random, content: content[: _at(random, content)]),
    ("bytes flipped", _flipped),
    ("something inserted", _inserted),
    ("a mark before it", lambda _, content: b"\xef\xbb\xbf" + content),
    ("another encoding", lambda _, content: content.decode("utf-8", "replace").encode("utf-16")),
    ("packed", lambda _, content: gzip.compress(content)),
    ("twice", lambda _, content: content + content),
    ("a huge line", lambda _, content: content + b"x" * 300_000),
    ("deep", lambda _, content: content + b"\n" + b"[" * 100_000),
    ("empty", lambda _, __: b""),
    ("noise", lambda random, _: random.randbytes(400)),
    ("a longer row", lambda _, content: content + b"\n" + b",".join([b"x"] * 40)),
)
