"""Logs of other tools as tables: whose a file is, and which of its columns play which role."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from quaver.core.input_budget import MOST_BYTES, InputBudget, parsed_json, read_file
from quaver.core.label_decisions import Decision
from quaver.design.items.text_lines import Row
from quaver.errors import ItemError, QuaverError
from quaver.study.imports.columns import MOST_LABELS, plain
from quaver.study.imports.import_options import ImportOptions
from quaver.study.imports.label_studio import fields_of_tasks, rows_of_tasks

Record: TypeAlias = Mapping[str, Any]
LABEL_STUDIO: Final = "Label Studio"


class ToolLog(NamedTuple):
    """What a log holds.

    Attributes:
        tool: Who wrote it.
        rows: A row an answer; those of inspect-ai with the columns ``item``, ``text``, ``variant``,
            ``model``, ``repeat``, ``answer``, ``gold`` and ``score``.
        fields: The columns of labels, where the tool keeps labels.
    """

    tool: str
    rows: list[Row]
    fields: Sequence[str] = ()


def log_in(file: Path) -> ToolLog | None:
    """What a file holds, if it is a log of a tool that is known; None for any other table."""
    ending = file.suffix.lower()
    if not file.is_file():
        return None
    try:
        if ending == ".eval":
            return _log_of_document(file, _unpacked(file))
        if ending == ".json":
            return _log_of_document(file, parsed_json(read_file(file)))
    except (OSError, zipfile.BadZipFile) as error:
        raise ItemError("this log cannot be read", where=str(file), found=str(error)) from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise ItemError(
            "this log is damaged, or its tool has changed its format",
            where=str(file),
            found=f"{type(error).__name__}: {error}"[:200],
            fix="export a table with an item, a prompt and an answer a row, and import that",
        ) from None
    return None


def _log_of_document(file: Path, document: Any) -> ToolLog:
    """The log in a file that is one JSON document."""
    first = document[0] if isinstance(document, list) and document else document
    keys = first.keys() if isinstance(first, dict) else frozenset[str]()
    if first is document and keys >= {"eval", "samples"}:
        return ToolLog("inspect-ai", _rows(file, _samples(document)))
    if first is not document and keys >= {"annotations", "data"}:
        return ToolLog(LABEL_STUDIO, _rows(file, rows_of_tasks(document)), fields_of_tasks(document))
    raise ItemError(
        "this is no log that Quaver knows",
        where=str(file),
        expected="a log of inspect-ai, or a JSON export of Label Studio",
        found=f"JSON with {', '.join(list(keys)[:8])}" if keys else f"JSON: {type(first).__name__}",
        fix="save a table with an item, a prompt and an answer a row as CSV or JSON Lines",
    )


def _samples(log: Record) -> Iterator[Record]:
    """A row for each sample of inspect-ai's; its target is the true label, an epoch a repeat."""
    about = log["eval"]
    arguments = about.get("task_args") or {}
    variant = ",".join(f"{name}={one}" for name, one in arguments.items()) or about["task"]
    for sample in log["samples"]:
        yield plain(sample.get("metadata") or {}) | {
            "item": str(sample["id"]),
            "text": _cell(sample["input"]),
            "variant": variant,
            "model": about["model"],
            "repeat": sample["epoch"],
            "answer": sample["output"]["completion"] or "",
            "gold": _cell(sample["target"]),
            "score": next((_cell(one["value"]) for one in (sample.get("scores") or {}).values()), None),
        }


def _cell(value: Any) -> Any:
    """A cell: of messages the last one's text, of parts their texts, of several values none."""
    if not isinstance(value, list):
        return value
    if value and isinstance(value[-1], dict) and "content" in value[-1]:
        return _cell(value[-1]["content"])
    if all(isinstance(one, dict) for one in value):
        return " ".join(one["text"] for one in value if "text" in one) or None
    return value[0] if len(value) == 1 else None


def _rows(file: Path, found: Iterable[Record]) -> list[Row]:
    """The rows of a log, with every column that one of them has."""
    rows = [Row(one.items(), file.name, f" answer {number}") for number, one in enumerate(found, start=1)]
    if not rows:
        raise ItemError("there are no answers in this log", where=str(file), expected="at least one sample")
    columns = dict.fromkeys(name for row in rows for name in row)
    for row in rows:
        row.update(dict.fromkeys(columns.keys() - row.keys()))
    return rows


def with_roles(
    rows: Sequence[Row], fields: Sequence[str], given: ImportOptions, decisions: list[Decision]
) -> None:
    """Say which columns of all logs are what, as far as the user has not.

    Answers are read by evaluators where the true labels are few; where they are open texts or unknown, the
    label is the score that the tool gave. Scores that are numbers have a level.
    """
    columns = rows[0].keys()
    if not given["raw"] and not given["label"]:
        if fields or "answer" not in columns:
            given["label"] = _only(fields)
        else:
            true, scores = ({row.text(name) for row in rows} - {""} for name in ("gold", "score"))
            is_open = not given["labels"] and not 2 <= len(true) <= MOST_LABELS
            if is_open and (2 <= len(scores) <= MOST_LABELS or _level(scores) != "nominal"):
                given["label"], given["ignore"] = "score", [*given["ignore"], *columns & {"gold"}]
            else:
                given["raw"] = "answer"
    true_label = f"{given['label']} (ground truth)"
    if true_label in columns and not given["gold"]:
        given["gold"] = true_label
    if given["label"] in columns and given["level"] is None:
        given["level"] = _level({row.text(given["label"]) for row in rows} - {""})
        if given["level"] != "nominal":
            decisions.append(Decision("level", given["label"], f"numbers: {given['level']}"))


def _only(fields: Sequence[str]) -> str:
    """The one thing that was labelled."""
    if len(fields) != 1:
        raise QuaverError(
            "one field of an export is imported at a time",
            where="label",
            expected="the name of what was labelled",
            found=", ".join(fields) or "no column of which it is plain",
            fix=f"name it: --label {fields[0] if fields else 'COLUMN'}",
        )
    return fields[0]


def _level(values: Set[str]) -> Literal["nominal", "ordinal", "interval"]:
    """The level of these labels: whole numbers are ordered, others have distances, two labels neither."""
    try:
        numbers = {float(value) for value in values}
    except ValueError:
        return "nominal"
    if len(numbers) < 3 or not all(map(math.isfinite, numbers)):
        return "nominal"
    return "ordinal" if all(map(float.is_integer, numbers)) and len(numbers) <= 11 else "interval"


def _unpacked(file: Path) -> dict[str, Any]:
    """The document of a packed log, which has a file a sample."""
    unpacked = InputBudget(MOST_BYTES, "bytes unpacked")
    with zipfile.ZipFile(file) as packed:
        members = packed.infolist()
        for member in members:
            unpacked.spend(member.file_size)  # no more than that is read of it
        try:
            document: dict[str, Any] = parsed_json(packed.read("header.json"))
        except NotImplementedError:  # packed by Zstandard, which Python can unpack from 3.14 on
            return _unpacked_by_its_tool(file)
        names = sorted(one.filename for one in members if one.filename.startswith("samples/"))
        document["samples"] = [parsed_json(packed.read(name)) for name in names]
        return document


def _unpacked_by_its_tool(file: Path) -> dict[str, Any]:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise ItemError(
            "this log is packed in a way that only inspect-ai unpacks here",
            where=str(file),
            fix=f"pip install inspect-ai, or unpack it: inspect log dump {file.name} > {file.stem}.json",
        ) from None
    document: dict[str, Any] = read_eval_log(str(file)).model_dump(mode="json")
    return document
