"""Records of JSON as rows of a table, also those of other evaluation programs' logs, and packed files."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from quaver.core.input_budget import MOST_BYTES, InputBudget, parsed_json, read_file
from quaver.core.replaced_file import scratch_folder
from quaver.errors import ItemError

PACKED: Final = (".gz", ".zip")
Placed = tuple[int, dict[str, Any]]
"""A record with its number in the file."""


def table_ending(path: Path) -> str:
    """The ending that shows how a table is written; of a packed file, the last two endings.

    >>> table_ending(Path("a.b.csv.gz")), table_ending(Path("a.b.csv"))
    ('.csv.gz', '.csv')
    """
    return "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix


def records_in(path: Path) -> tuple[Any, list[dict[str, Any]]]:
    """The document in a JSON file, and its records: a list of objects, or the only list in an object.

    Raises:
        ItemError: There is none.
    """
    try:
        document = parsed_json(read_file(path))
    except (ValueError, RecursionError) as error:
        raise ItemError("this is not JSON", where=path.name, found=str(error)[:200]) from None
    if isinstance(document, dict) and {"eval", "samples"} <= document.keys():
        raise ItemError(
            "this is a log of inspect-ai, not a table",
            where=path.name,
            fix='make a table of it: inspect_ai.analysis.samples_df("LOGS").to_parquet("logs.parquet")',
        )
    lists = [document]
    if isinstance(document, dict):
        lists = [value for value in document.values() if isinstance(value, list) and value]
    records = lists[0] if len(lists) == 1 else document
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ItemError(
            "this is not a table",
            where=path.name,
            expected="a list of objects, one a row",
            found=f"a {type(document).__name__}",
            fix="save the records as JSON Lines, one object a line",
        )
    return document, records


def table_records(records: Sequence[Placed]) -> list[Placed]:
    """The records as rows; of a log of lm-evaluation-harness or OpenAI's evals, what a table needs of it."""
    first = records[0][1] if records else {}
    if {"doc_id", "filtered_resps"} <= first.keys():
        return [(index, _of_harness(record)) for index, record in records]
    if isinstance(first.get("spec"), dict) and "completion_fns" in first["spec"]:
        return _of_evals(first["spec"], records[1:])
    return list(records)


def _of_harness(record: Mapping[str, Any]) -> dict[str, Any]:
    """A sample of lm-evaluation-harness: its filter is a variant; of scored choices, the likeliest.

    >>> scored = {"doc_id": 3, "filtered_resps": [["-2.5", "False"], ["-0.5", "True"]], "target": "1"}
    >>> _of_harness(scored)
    {'item': 3, 'answer': 1, 'gold': '1', 'filter': None}
    """
    answer: Any = record["filtered_resps"]
    if answer and all(isinstance(answer_pair, list) and len(answer_pair) == 2 for answer_pair in answer):
        scores = [float(answer_pair[0]) for answer_pair in answer]
        answer = scores.index(max(scores))
    row = {"item": record["doc_id"], "answer": answer, "gold": record.get("target")}
    doc = record.get("doc")
    noted = (
        {name: cell for name, cell in doc.items() if (not isinstance(cell, list | dict))}
        if isinstance(doc, dict)
        else {}
    )
    return noted | row | {"filter": record.get("filter")}


def _of_evals(spec: Mapping[str, Any], events: Sequence[Placed]) -> list[Placed]:
    """The samples of a log of OpenAI's evals, which has several events for each.

    Its first event that says so has the text, the answer and the true label: later ones are a grader's.

    >>> said = {"prompt": "Is it good?", "sampled": ["yes"]}, {"sampled": ["Right."]}, {"expected": "yes"}
    >>> events = [(at, {"sample_id": "a.1", "data": data}) for at, data in enumerate(said)]
    >>> _of_evals({"completion_fns": ["gpt-4o"]}, events)
    [(0, {'item': 'a.1', 'model': 'gpt-4o', 'text': 'Is it good?', 'answer': 'yes', 'gold': 'yes'})]
    """
    model, rows = ",".join(map(str, spec["completion_fns"])), dict[str, Placed]()
    for index, event in events:
        data = event.get("data")
        if "sample_id" not in event or not isinstance(data, dict):
            continue
        empty = {"item": event["sample_id"], "model": model, "text": None, "answer": None, "gold": None}
        _, row = rows.setdefault(event["sample_id"], (index, empty))
        prompt = data.get("prompt")
        if isinstance(prompt, list) and prompt and isinstance(prompt[-1], dict):
            prompt = prompt[-1].get("content")
        for name, cell in (("text", prompt), ("answer", data.get("sampled")), ("gold", data.get("expected"))):
            if row[name] is None:
                row[name] = cell[0] if isinstance(cell, list) and len(cell) == 1 else cell
    return list(rows.values())


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The only table in a packed file, as a file of its own for a while.

    Raises:
        ItemError: It holds none or several, or is damaged.
    """
    with scratch_folder() as folder:
        try:
            if path.suffix.lower() == ".gz":
                inner = folder / path.stem
                with gzip.open(path) as packed, inner.open("wb") as out:
                    _copy(packed, out)
            else:
                with zipfile.ZipFile(path) as archive:
                    inner = folder / Path(_only(path, archive)).name
                    with archive.open(_only(path, archive)) as packed, inner.open("wb") as out:
                        _copy(packed, out)
        except (zipfile.BadZipFile, gzip.BadGzipFile, EOFError, zlib.error, RuntimeError) as error:
            raise ItemError("this packed file is damaged", where=str(path), found=str(error)) from None
        yield inner


def _only(path: Path, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name]
    if len(names) != 1:
        raise ItemError(
            "this archive does not hold one table",
            where=str(path),
            expected="one file in it",
            found=", ".join(names[:8]) or "none",
            fix="unpack it, and name the table",
        )
    return names[0]


def _copy(packed: Any, out: Any) -> None:
    budget = InputBudget(MOST_BYTES, "bytes")
    while block := packed.read(1 << 20):
        budget.spend(len(block))
        out.write(block)


def packed_again(path: Path, target: Path, ending: str) -> None:
    """Pack a file as gzip or ZIP does, with no time in it, so that the same table gives the same bytes."""
    content = read_file(path)
    if ending == ".zip":
        with zipfile.ZipFile(target, "w") as archive:
            archive.writestr(zipfile.ZipInfo(path.name), content, zipfile.ZIP_DEFLATED)
        return
    with target.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as out:
        out.write(content)
