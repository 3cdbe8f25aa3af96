"""Vega-Lite specifications: the templates of ``forms.json``, filled in, and what all of them share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

from quaver.core.rows import grouped
from quaver.report.page_words import one_line, shortened

FORMS: Final[Mapping[str, Any]] = json.loads(Path(__file__).with_name("forms.json").read_text("utf-8"))
DATA: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#3a9bd6", "#6f6f6f")
"""Okabe & Ito's colours, which the colour-blind can tell apart, some darkened for white paper."""
PAPER: Final = FORMS["config"]["background"]
INK: Final = FORMS["config"]["title"]["color"]
SOFT: Final = FORMS["config"]["title"]["subtitleColor"]
TITLE, TEXT = 15, 12.5
"""Sizes of letters, in pixels: of a chart's title, and of all else."""
_MARGIN, _BARE = 14, 4
"""Around a chart with its title, and around one without, in pixels."""
_SURE = 0.9
"""Of the room of titles and names that these take: where Helvetica is missing, other letters are wider."""
_BOLD = 1.08
"""How much wider bold letters are."""
_SHAPES: Final = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
_PARTS: Final = (
    *("head", "color", "fill", "shape", "offset", "line", "x", "y"),
    "about",
)
BREAK: Final = "\u2063"

Row = dict[str, Any]
Spec = dict[str, Any]
Ends = tuple[float, float]
Names = Mapping[str, str]
Rows = Sequence[Mapping[str, Any]]


def text_width(text: str, size: float = 12.5) -> float:
    """About how wide a line is in print, in pixels."""
    return sum(0.3 if c in " .,'|il:;!()[]fjt·" else 0.85 if c in "MWmw@%—…" else 0.57 for c in text) * size


def fitted(text: object, width: float, size: float = 12.5) -> str:
    """A text on one line of a width, in pixels, cut in the middle where it is too long."""
    line = one_line(text)
    wide = text_width(line, size)
    return line if wide <= width else shortened(line, max(4, int(len(line) * width / wide)))


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with its values; an entry without one, and a layer whose condition fails, are left out."""
    if isinstance(template, str):
        return values.get(template[1:]) if template.startswith("$") else template
    if isinstance(template, list):
        parts = []
        for part in template:
            if not isinstance(part, dict) or values.get(str(part.get("when")), True):
                parts.append(filled(part, values))
        return parts
    if not isinstance(template, dict):
        return template
    entries = {}
    for key, part in template.items():
        new = filled(part, values)
        if new is not None or part is None or key in ("axis", "title", "legend"):  # null switches these off
            entries[key] = new
    entries.pop("when", None)
    return entries


class Drawing:
    """One chart on its way to a specification."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], width: int, order: Sequence[str] = ()) -> None:
        self.rows: list[Row] = []
        for row in rows:
            printable = {key: _printable(value) for key, value in row.items()}
            self.rows.append({"panel": "", "series": "", **printable})
        self.width = width
        self.series = list(dict.fromkeys([*map(_printable, order), *self.values("series")]))
        self.whole: dict[str, str] = {}

    def values(self, key: str) -> list[Any]:
        """What the rows have under a key, in order of appearance."""
        return list(dict.fromkeys(row.get(key, "") for row in self.rows))

    def add(self, lines: Iterable[Row]) -> None:
        """Add rows that are no data, such as the lines to compare with."""
        self.rows += [{"series": self.series[0], **row} for row in lines]

    def short(self, name: object, width: float) -> str:
        """A name in its room, of which the page shows the whole."""
        text, whole = fitted(name, width), one_line(name)
        if text != whole:
            self.whole[text] = whole
        return text

    def lines(self, key: str, room: float) -> tuple[list[str], float]:
        """Give each row its line, by its group and a key; the lines, and how wide their names are."""
        result: list[str] = []
        widest = 0.0
        for at, (group, own) in enumerate(grouped(self.rows, lambda row: row.get("group", "")).items()):
            if group:
                result.append(f"#{at}{BREAK}{self.short(group, room)}")
                widest = max(widest, _BOLD * text_width(result[-1].partition(BREAK)[2]))
            named = grouped((row for row in own if key in row), lambda row: str(row[key]))
            for index, (name, rows) in enumerate(named.items()):
                short = self.short(name, room)
                result.append(f"{at}.{index}{BREAK}{short}")
                widest = max(widest, text_width(short))
                for row in rows:
                    row["line"] = result[-1]
        return result, widest / _SURE + 8

    def panels(self, order: Sequence[str], names: Names, under: Names, room: float) -> list[str]:
        """Give each row its panel's heading, of one or two lines; the headings in their order."""
        there, result = self.values("panel"), {}
        there.sort(key=lambda name: order.index(name) if name in order else len(order))
        for index, name in enumerate(there):
            first, second = names.get(name, name), under.get(name, "")
            head, dot, last = first.rpartition(" · ")
            if dot:  # its last part stands on the second line
                first, second = head, f"{last}, {second}" if second else last
            lines = self.short(first, room), self.short(second, room + 8)
            result[name] = BREAK.join(filter(None, (str(index), *lines)))
        for row in self.rows:
            row["panel"] = result[row["panel"]]
        return list(result.values())

    def spec(self, form: str, panels: Sequence[str], **values: Any) -> Spec:
        """The form's specification with these values."""
        left_out = {"offset"} if len(self.series) < 2 else set()
        if not any(self.values("about")):
            left_out.add("about")
        for row in self.rows:
            if row.get("about"):
                row["about"] = f"{BREAK}{row['about']}"
        named, several = list(filter(None, self.series)), len(self.series)
        longest = max(map(text_width, named), default=0.0) + 40
        inks = _in_turn(DATA, several)
        legend = {
            "title": None,
            "values": named,
            "columns": max(1, min(len(named), int(self.width // longest))),
        }
        if len(panels) % values.get("fit", 1):  # the axis of a column stands below its last panel
            values.setdefault("resolve", {"axis": {"x": "independent"}})
        values |= {
            "rows": self.rows,
            "whole": self.whole,
            "panels": list(panels),
            "series": self.series,
            "inks": inks,
            "fills": [ink if index % 2 == 0 else PAPER for index, ink in enumerate(inks)],
            "shapes": _in_turn(_SHAPES, several),
            "widths": [1.8 + 1.2 * after * (several < 5) for after in reversed(range(several))],
            "legend": legend if len(named) > 1 else None,
        }
        values["headed"] = any(BREAK in heading for heading in panels)
        for part in _PARTS:
            if part not in left_out:
                values[part] = filled(FORMS[part], values)
        if form == "curve":
            return dict(filled(FORMS[form], values))
        values["spec"] = filled(FORMS[form], values)
        return dict(filled(FORMS["facet"], values))


def _in_turn(looks: Sequence[str], count: int) -> list[str]:
    """As many looks, the first ones again after the last."""
    return list(islice(cycle(looks), count))


def _printable(value: Any) -> Any:
    return one_line(value) if isinstance(value, str) and not value.isprintable() else value


def wrapped(text: str, width: float, size: float) -> list[str]:
    """A text in lines of a width, in pixels; a word is never broken."""
    lines = [""]
    for word in one_line(text).split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def stacked(*specs: Spec) -> Spec:
    """Specifications below each other."""
    names: dict[str, str] = {}
    for spec in specs:
        names |= spec.pop("usermeta")["names"]
    return {"vconcat": list(specs), "usermeta": {"names": names}}


def finished(spec: Any, *, width: int, title: str = "", subtitle: str = "") -> Spec:
    """A specification, or an Altair chart, with its title and the common settings."""
    made: Spec = spec if isinstance(spec, dict) else spec.to_dict(validate=False)
    if title:
        below = wrapped(subtitle, _SURE * width, TEXT) if subtitle else []
        made = {**made, "title": {"text": wrapped(title, _SURE * width, TITLE), "subtitle": below}}
    return {**made, "config": FORMS["config"], "padding": _MARGIN if title else _BARE}
