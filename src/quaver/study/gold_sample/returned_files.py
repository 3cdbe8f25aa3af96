"""Files that come back from coders: tables, and the exports of Label Studio and Argilla."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from quaver.design.items.table_files import FORMATS, read_rows
from quaver.design.items.table_row import Row
from quaver.errors import ItemError, UnknownName
from quaver.gold.coder_sheet import CODER, ITEM, LABEL, NOTE, TEXT
from quaver.gold.returned_labels import Returned

_SHEET = "Labels"
_HINT = "--{name} {value} (or save it as .xlsx)"


def read_returned(path: Path) -> list[Returned]:
    """The rows of a file that came back, in its order.

    Args:
        path: A table (.xlsx, .csv, …) with the columns ``item`` and ``label``; or JSON, as Label Studio
            (JSON or JSON-MIN) and Argilla export it.

    Raises:
        ItemError: It cannot be read, lacks a column, or holds no labels at all.
    """
    rows = _from_json(path) if path.suffix.lower() == ".json" else _from_table(path)
    if not any(row.label.strip() for row in rows):
        raise ItemError(
            "this file holds no labels",
            where=path.name,
            expected="a code in the column `label` of some row",
            found=f"{len(rows)} rows without one",
            fix="fill in the labels, save the file, and take it again",
        )
    return rows


def _from_table(path: Path) -> list[Returned]:
    rows = _table(path)
    names = {name.strip().casefold(): name for name in (rows[0] if rows else ())}
    for needed in (ITEM, LABEL):
        if rows and needed not in names:
            raise ItemError(
                f"this file has no column {needed!r}",
                where=f"{path.name}:1",
                expected=f"the columns {ITEM} and {LABEL}",
                found=", ".join(map(repr, rows[0])) or "no columns",
                fix="rename the columns, or take back the file that was sent out",
            )
    parts = {part: names.get(part) for part in (ITEM, LABEL, CODER, NOTE, TEXT)}
    return [
        _returned([row.text(parts[part]) for part in (ITEM, LABEL, CODER, NOTE, TEXT)], row.where)
        for row in rows
        if any(row.text(parts[part]) for part in (ITEM, LABEL))
    ]


def _table(path: Path) -> list[Row]:
    """The rows, however a spreadsheet program saved them."""
    ending = path.suffix.lower()
    if ending in (".xlsx", ".xlsm", ".ods"):
        try:
            return read_rows(path, sheet=_SHEET, hint=_HINT)
        except UnknownName:  # saved under another name, or by another program
            return read_rows(path, hint=_HINT)
    if ending in (".csv", ".tsv", ".tab") and path.is_file():
        start = path.read_bytes()
        encoding = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
        try:
            text = start.decode("utf-8-sig" if encoding == "utf-8" else encoding)
        except UnicodeDecodeError:
            encoding = "cp1252"  # as Excel saves CSV in western Europe
            text = start.decode("latin-1")
        first = text.partition("\n")[0]
        separator = max(",;\t", key=first.count) if ending == ".csv" else None
        return read_rows(path, encoding, separator, hint=_HINT)
    if ending and ending not in FORMATS:
        raise ItemError(
            f"files that end in {ending!r} are not read",
            where=str(path),
            expected=f"one of {', '.join([*FORMATS, '.json'])}",
            fix="save the sheet as .xlsx or .csv",
        )
    return read_rows(path, hint=_HINT)


def _from_json(path: Path) -> list[Returned]:
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ItemError("this file cannot be read", where=str(path), found=str(error)[:200]) from None
    records = document if isinstance(document, list) else None
    if records is None or not all(isinstance(one, dict) for one in records):
        raise _foreign(path, "no list of records")
    found: list[Returned] = []
    for number, record in enumerate(records, 1):
        where = f"{path.name}: record {number}"
        try:
            found += _of_record(record, where)
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            raise _foreign(path, f"record {number}: {error}") from None
    return found


def _of_record(record: Mapping[str, Any], where: str) -> Iterator[Returned]:
    """The labels of one record: of Label Studio if it has ``annotations``, of Argilla if ``responses``."""
    if "annotations" in record:
        yield from _label_studio(record, where)
    elif "responses" in record:
        yield from _argilla(record, where)
    elif ITEM in record:  # Label Studio's JSON-MIN, or any flat record
        label = record.get(LABEL)
        label = "" if label is None else label
        if not isinstance(label, str | int | float):
            label = _one(_choices(label))
        texts = (record[ITEM], label, record.get(CODER), record.get(NOTE), record.get(TEXT))
        yield _returned(texts, where, record.get("updated_at"))
    else:
        raise LookupError(f"neither annotations, responses nor {ITEM!r}")


def _label_studio(record: Mapping[str, Any], where: str) -> Iterator[Returned]:
    data = record["data"]
    done = [one for one in record["annotations"] if not one.get("was_cancelled")]
    for one in done:
        label, note = "", ""
        for part in one["result"]:
            if part["from_name"] == LABEL:
                label = _one(part["value"]["choices"])
            elif part["from_name"] == NOTE:
                note = " ".join(map(str, part["value"]["text"]))
        by = one.get("completed_by")
        by = (by.get("email") or by.get("id")) if isinstance(by, dict) else by
        coder = by if len(done) > 1 and by is not None else data.get(CODER)
        texts = (data[ITEM], label, coder, note, data.get(TEXT))
        yield _returned(texts, where, one.get("updated_at") or one.get("created_at"))


def _argilla(record: Mapping[str, Any], where: str) -> Iterator[Returned]:
    item = record.get("id", record.get("external_id"))
    metadata, fields = record.get("metadata") or {}, record.get("fields") or {}
    responses = record["responses"]
    if isinstance(responses, dict):  # Argilla 2: by question
        given = [(one.get("user_id"), one["value"]) for one in responses.get(LABEL) or ()]
        notes = {one.get("user_id"): one["value"] for one in responses.get(NOTE) or ()}
    else:  # Argilla 1: by person
        values = [(one.get("user_id"), one.get("values") or {}) for one in responses]
        given = [(by, value[LABEL]["value"]) for by, value in values if LABEL in value]
        notes = {by: value[NOTE]["value"] for by, value in values if NOTE in value}
    for by, label in given:
        coder = by if len(given) > 1 and by is not None else metadata.get(CODER)
        yield _returned((item, label, coder, notes.get(by), fields.get(TEXT)), where)


def _choices(value: Any) -> list[Any]:
    return list(value["choices"]) if isinstance(value, dict) else list(value)


def _one(values: Sequence[Any]) -> str:
    if len(values) > 1:
        raise ValueError(f"{len(values)} labels of one coder for one item")
    return str(values[0]) if values else ""


def _returned(values: Sequence[Any], where: str, when: Any = None) -> Returned:
    """A row of item, label, coder, note and text."""
    for value in values:
        if isinstance(value, list | dict):
            raise TypeError(f"a {type(value).__name__} where a text should be")
    texts = ["" if value is None else str(value).strip() for value in values]
    item, label, coder, note, text = (one.encode("utf-8", "backslashreplace").decode() for one in texts)
    return Returned(item, label, coder, note, text, "" if when is None else str(when)[:40], where)


def _foreign(path: Path, found: str) -> ItemError:
    return ItemError(
        "this is not a file of labels that came back",
        where=path.name,
        expected="an export of Label Studio (JSON or JSON-MIN) or of Argilla",
        found=found[:200],
        fix="export the project in one of these formats, or as CSV with the columns item and label",
    )
