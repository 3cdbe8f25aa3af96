"""Vega-Lite specifications: the templates of ``forms.json``, filled in, and what all of them share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

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
        kept = (
            part for part in template if not isinstance(part, dict) or values.get(str(part.get("when")), True)
        )
        return [filled(part, values) for part in kept]
    if not isinstance(template, dict):
        return template
    pairs = ((key, part, filled(part, values)) for key, part in template.items() if key != "when")
    optional = ("axis", "title", "legend")  # which are switched off by null
    return {key: new for key, old, new in pairs if new is not None or old is None or key in optional}


class Drawing:
    """One chart on its way to a specification."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], width: int, order: Sequence[str] = ()) -> None:
        self.rows = [{key: _printable(value) for key, value in row.items()} for row in rows]
        for row in self.rows:
            row.setdefault("panel", "")
            row.setdefault("series", "")
        self.width = width
        self.series = list(dict.fromkeys([*map(_printable, order), *(row["series"] for row in self.rows)]))
        self.whole: dict[str, str] = {}

    def short(self, name: object, width: float) -> str:
        """A name in its room, of which the page shows the whole."""
        text, whole = fitted(name, width), one_line(name)
        if text != whole:
            self.whole[text] = whole
        return text

    def lines(self, key: str, room: float) -> tuple[list[str], float]:
        """Give each row its line, by its group and a key; the lines, and how wide their names are."""
        groups = dict.fromkeys(row.get("group", "") for row in self.rows)
        result: list[str] = []
        for at, group in enumerate(groups):
            if group:
                result.append(f"#{at}{BREAK}{self.short(group, room)}")
            own = [row for row in self.rows if row.get("group", "") == group and key in row]
            for index, name in enumerate(dict.fromkeys(str(row[key]) for row in own)):
                line = f"{at}.{index}{BREAK}{self.short(name, room)}"
                result.append(line)
                for row in own:
                    if str(row[key]) == name:
                        row["line"] = line
        wide = (text_width(line.partition(BREAK)[2]) * (_BOLD if line[0] == "#" else 1.0) for line in result)
        return result, max(wide) / _SURE + 8

    def panels(self, order: Sequence[str], names: Names, under: Names, room: float) -> list[str]:
        """Give each row its panel's heading, of one or two lines; the headings in their order."""
        there = list(dict.fromkeys(row["panel"] for row in self.rows))
        there.sort(key=lambda name: order.index(name) if name in order else len(order))
        result = {}
        for index, name in enumerate(there):
            first, second = names.get(name, name), under.get(name, "")
            head, dot, last = first.rpartition(" · ")
            if dot:  # its last part stands on the second line
                first, second = head, f"{last}, {second}" if second else last
            lines = [self.short(first, room), self.short(second, room + 8)]
            result[name] = BREAK.join([str(index), *(line for line in lines if line)])
        for row in self.rows:
            row["panel"] = result[row["panel"]]
        return list(result.values())

    def spec(self, form: str, panels: Sequence[str], **values: Any) -> Spec:
        """The form's specification with these values."""
        for row in self.rows:
            if row.get("about"):
                row["about"] = f"{BREAK}{row['about']}"
        named = [name for name in self.series if name]
        longest = max(map(text_width, named), default=0.0) + 40
        inks = [DATA[index % len(DATA)] for index in range(len(self.series))]
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
            "shapes": [_SHAPES[index % len(_SHAPES)] for index in range(len(self.series))],
            "widths": [1.8 + 1.2 * (len(inks) - 1 - index) * (len(inks) < 5) for index in range(len(inks))],
            "legend": legend if len(named) > 1 else None,
        }
        values["headed"] = any(BREAK in heading for heading in panels)
        left_out = {"offset"} if len(self.series) < 2 else set()
        if not any(row.get("about") for row in self.rows):
            left_out.add("about")
        for part in _PARTS:
            if part not in left_out:
                values[part] = filled(FORMS[part], values)
        if form == "curve":
            return dict(filled(FORMS[form], values))
        values["spec"] = filled(FORMS[form], values)
        return dict(filled(FORMS["facet"], values))


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
    names = {short: whole for spec in specs for short, whole in spec.pop("usermeta")["names"].items()}
    return {"vconcat": list(specs), "usermeta": {"names": names}}


def finished(spec: Any, *, width: int, title: str = "", subtitle: str = "") -> Spec:
    """A specification, or an Altair chart, with its title and the common settings."""
    made: Spec = spec if isinstance(spec, dict) else spec.to_dict(validate=False)
    if title:
        below = wrapped(subtitle, _SURE * width, TEXT) if subtitle else []
        made = {**made, "title": {"text": wrapped(title, _SURE * width, TITLE), "subtitle": below}}
    return {**made, "config": FORMS["config"], "padding": _MARGIN if title else _BARE}
