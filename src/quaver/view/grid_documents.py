"""The grid as the page gets it: its columns and margins, windows of rows and cells, lists of answers."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from quaver.core.number_format import short_name
from quaver.view.answer_reading import excerpts
from quaver.view.asked import Given
from quaver.view.grid_view import GridView
from quaver.view.mark_book import Mark
from quaver.view.query_fields import Fields
from quaver.view.query_language import quoted, written
from quaver.view.query_scope import Coded, Scope
from quaver.view.study_index import Column, IndexDesign
from quaver.view.viewed_study import ViewedStudy

_EXCERPT = 200
_MOST_VALUES = 50


def grid(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """A view without its cells: how many rows, which columns, what the margins say."""
    view = study.view(given.asked)
    index, design, margins = study.index, study.index.design, view.margins
    columns = []
    for column, group in zip(view.columns(), view.groups, strict=True):
        sums = [int(part[group].sum()) for part in margins]
        columns.append(column_document(column, len(group)) | _margin(sums) | {"matched": sums[-1]})
    every = [int(part[view.order].sum()) for part in margins]
    return {
        "view": blake2b(repr((given.asked, study.version)).encode(), digest_size=8).hexdigest(),
        "version": study.version,
        "rows": len(view.rows),
        "items": design.items,
        "matched": view.matched,
        "of": int(view.scope.statistics.answered.sum()),
        "partial": not index.state.complete,
        "columns": columns,
        "margin": _margin(every),
        "counts": [[code, int(n)] for code, n in enumerate(view.counts) if n],
        "clusters": _clusters(view, design),
        "searched": all(one.complete for one in view.scope.searches),
    }


def column_document(column: Column, together: int = 1) -> dict[str, Any]:
    """A column."""
    return {
        "column": column.at,
        "model": column.model,
        "prompt": column.prompt,
        "short": short_name(column.prompt),
        "decoding": column.decoding,
        "repeat": column.repeat if together == 1 else None,
    }


def _margin(sums: list[int]) -> dict[str, Any]:
    answered, valid, agreeing, right, with_gold, _ = sums
    return {
        "answered": answered,
        "valid": share(valid, answered) or 0.0,
        "agreement": share(agreeing, valid),
        "accuracy": share(right, with_gold),
    }


def _clusters(view: GridView, design: IndexDesign) -> list[dict[str, Any]] | None:
    if view.clusters is None:
        return None
    starts = np.cumsum([0, *view.clusters.sizes])
    return [
        {"cluster": index + 1, "rows": size, "from": int(starts[index]), "label": _code(design, label)}
        for index, (size, label) in enumerate(zip(view.clusters.sizes, view.clusters.labels, strict=True))
    ]


def _code(design: IndexDesign, legend: int) -> str | None:
    return design.meanings[legend][0]


def rows(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Some rows, with what is known of their items."""
    view, window = study.view(given.asked), given.window(100, 1000)
    if not given.find:
        return {"version": study.version, "rows": row_documents(study, view, window, given.who)}
    index = view.place_of(study.index.ids.find(given.find))
    if index is not None:
        count = window.stop - window.start
        start = max(0, index - count // 2)
        window = slice(start, start + count)
    return {"version": study.version, "rows": row_documents(study, view, window, given.who), "found": index}


def row_documents(study: ViewedStudy, view: GridView, window: slice, who: str = "") -> list[dict[str, Any]]:
    """The items of some rows, as the grid shows them beside these; with marks of one person or all."""
    marks = study.book.by_item(who)
    return [
        _row(study, view, index, int(row), marks) for index, row in enumerate(view.rows[window], window.start)
    ]


def _row(study: ViewedStudy, view: GridView, position: int, row: int, marks: Any) -> dict[str, Any]:
    """An item as the grid shows it beside its row."""
    index, statistics = study.index, view.scope.statistics
    name = index.ids[row]
    said = marks.get(name, ())
    known = {
        "row": position,
        "at": row,
        "item": name,
        "text": index.item_text(row, _EXCERPT),
        "mark": said[-1].kind if said else None,
        "groups": groups_of(study, row),
        "valid": share(statistics.valid[row], statistics.answered[row]),
        "cluster": int(view.clusters.numbers[position]) if view.clusters else None,
    }
    return known | item_numbers(study, view, row)


def item_numbers(study: ViewedStudy, view: GridView, row: int) -> dict[str, Any]:
    """An item's labels in numbers."""
    index, statistics = study.index, view.scope.statistics
    agreement, gold = share(statistics.top[row], statistics.valid[row]), int(index.gold[row])
    return {
        "gold": _code(index.design, gold) if gold else None,
        "modal": _code(index.design, int(statistics.modal[row])),
        "agreement": agreement,
        "instability": None if agreement is None else 1 - agreement,
        "accuracy": share(statistics.right[row], statistics.answered[row]) if gold else None,
        "labels": int(statistics.labels[row]),
    }


def groups_of(study: ViewedStudy, row: int) -> dict[str, str]:
    """The groups of an item."""
    index = study.index
    codes = {name: int(index.groups[name][row]) for name in index.design.groups}
    return {name: index.design.groups[name][code - 1] for name, code in codes.items() if code}


def share(part: Any, whole: Any) -> float | None:
    """A share; None of nothing."""
    return float(part) / float(whole) if whole else None


def cells(study: ViewedStudy, given: Given) -> tuple[bytes, int, int]:
    """A window of cells, row by row, and its size."""
    view, window, step = study.view(given.asked), given.window(0, 100_000), max(1, given.step)
    width = min(given.width, 100_000)
    some = view.rows[window.start * step : window.stop * step]
    found = view.cells(some, given.left, width)
    codes, match, sure = (_zoomed(part, step) for part in found) if step > 1 else found
    if given.blind:
        codes = np.where(codes > 0, study.index.design.hidden, 0).astype(codes.dtype)
        sure = np.zeros_like(sure)
    kind = "<u1" if codes.dtype.itemsize == 1 else "<u2"
    content = codes.astype(kind).tobytes()
    content += match.tobytes() if given.match else b""
    content += sure.tobytes() if given.confidence else b""
    return content, *codes.shape


def _zoomed(part: Any, step: int) -> Any:
    """The most frequent value of each block of rows, column by column."""
    blocks = []
    for start in range(0, len(part), step):
        block = part[start : start + step]
        kinds = np.unique(block)
        counts = np.array([np.count_nonzero(block == kind, axis=0) for kind in kinds])
        blocks.append(kinds[counts.argmax(axis=0)])
    return np.array(blocks, part.dtype).reshape(-1, part.shape[1])


def answers(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """Some of the matching answers, in the order of rows and columns."""
    view, window, excerpt = study.view(given.asked), given.window(50, 500), given.characters(200)
    found: list[list[int]] = []
    seen = 0
    for some in view.matches():
        found += some[max(0, window.start - seen) : max(0, window.stop - seen)].tolist()
        seen += len(some)
        if seen >= window.stop:
            break
    index, marks = study.index, study.book.by_item()
    known = cell_documents(study, view.scope, [(position, column) for _, position, column in found], excerpt)
    for (row, position, column), document in zip(found, known, strict=True):
        about = index.design.columns[column]
        said = [mark for mark in marks.get(index.ids[position], ()) if about_column(mark, about)]
        document |= {"item": index.ids[position], "of": index.item_text(position, excerpt), "row": row}
        document |= {
            "gold": _code(index.design, int(index.gold[position])),
            "mark": said[-1].kind if said else None,
        }
    total = int(view.margins.matched[view.order].sum())
    return {"total": total, "version": study.version, "answers": known}


def cell_documents(
    study: ViewedStudy, scope: Scope, cells: Sequence[tuple[int, int]], excerpt: int = 0
) -> list[dict[str, Any]]:
    """Answers in a line each: their column, how they were read, and the beginning of their text."""
    index, design = study.index, study.index.design
    rows, columns = np.array(cells, np.int64).reshape(-1, 2).T
    codes = index.labels(scope.evaluator).at(rows, columns).tolist()
    sure = index.plane(f"confidence-{scope.evaluator}", "float32").at(rows, columns).tolist()
    lengths = index.plane("length", "uint32").at(rows, columns).tolist()
    modal = scope.statistics.modal[rows].tolist()
    texts = excerpts(index, cells, excerpt) if excerpt else [None] * len(cells)
    return [
        column_document(design.columns[column])
        | read_as(design, codes[position], sure[position], modal[position])
        | {"text": texts[position], "length": lengths[position]}
        for position, (_, column) in enumerate(cells)
    ]


def about_column(mark: Mark, column: Column) -> bool:
    """Whether a mark is about an answer of a column."""
    return mark.place == (column.model, column.prompt, column.decoding, column.repeat)


def reading_of(study: ViewedStudy, evaluator: int, position: int, column: int, modal: int) -> dict[str, Any]:
    """How an answer was read, as far as the index knows."""
    index = study.index
    sure = index.plane(f"confidence-{evaluator}", "float32").cell(position, column)
    return read_as(index.design, index.labels(evaluator).cell(position, column), sure, modal)


def read_as(design: IndexDesign, legend: int, sure: float, modal: int) -> dict[str, Any]:
    """What an answer of a legend code is; ``sure`` is its confidence and 1 more, 0 for none."""
    label, status = design.meanings[legend]
    return {
        "label": label,
        "status": status,
        "legend": legend,
        "confidence": round(sure - 1, 6) if sure else None,
        "flip": label is not None and legend != modal,
    }


def facets(study: ViewedStudy, given: Given) -> dict[str, Any]:
    """How many matching answers, or items, have each value of each field."""
    view = study.view(given.asked)
    fields = Fields(view.scope)
    known = {name: fields.get(name) for name in ("label", "status", "model", "prompt", "decoding", "repeat")}
    if (study.index.gold[view.rows] > 0).any():
        known["gold"] = fields.get("gold")
    known |= {name: fields.group(name) for name in study.index.design.groups}
    documents = [_facet(name, field.coded, view) for name, field in known.items() if field and field.coded]
    return {"fields": documents, "version": study.version}


def _facet(name: str, coded: Coded, view: GridView) -> dict[str, Any]:
    """The most frequent values of a field; of items also the absence of one."""
    values: list[tuple[str | None, int]] = [*zip(coded.names, view.counted(coded)[1:], strict=True)]
    if coded.level == "item":
        values.insert(0, (None, view.counted(coded)[0]))
    ranked = sorted(((value, n) for value, n in values if n), key=lambda one: -one[1])
    return {
        "field": name,
        "values": [
            {"value": value, "count": n, "query": query_for(name, value)}
            for value, n in ranked[:_MOST_VALUES]
        ],
    }


def query_for(field: str, value: str | None) -> str:
    """The term that asks for a value of a field, or for its absence."""
    return f"no:{written(field)}" if value is None else f"{written(field)}:{quoted(value)}"
