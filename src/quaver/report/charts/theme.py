"""Colours and type.

Data colours are of Okabe & Ito's set, which the colour-blind can tell apart; what they say is always said
by position, shape or words too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import altair as alt

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page_words import one_line, printed, sentence, shortened

INK: Final = "#1b1b1b"
SOFT: Final = "#5f5f5f"
RULE: Final = "#dddddd"
PAPER: Final = "#fefefe"
DATA: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#3a9bd6", "#6f6f6f")
"""Blue, vermilion, green, reddish purple, orange and sky blue (these two darkened for white paper), grey."""
SHAPES: Final = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
TITLE: Final = 15
HEADING: Final = 13.5
TEXT: Final = 12.5
"""Sizes of letters, in pixels: of a chart's title, of a panel's, and of all else."""
WIDE_HEADING: Final = HEADING + 1
"""What a heading is taken to be printed in: bold letters are wider."""
MARGIN: Final = 14
"""Around a chart with its title, and between the two."""
BARE: Final = 4
"""Around a chart without."""
FONT: Final = "Helvetica Neue, Helvetica, Arial, Liberation Sans, sans-serif"


class Layer(alt.Chart):
    """A layer of marks: Altair's chart, whose copies share what is in it.

    Layers and panels are copied through and through each time that they are put together, which would take
    longer than all else; nothing here changes a chart once it is made.
    """

    def __deepcopy__(self, memo: object = None) -> Layer:
        return self.copy(deep=False)


def inline(rows: list[dict[str, Any]]) -> alt.InlineData:
    """Rows as a chart's own data, of any number; their texts on one line each, fit for XML.

    A tuple, since Altair copies lists through and through for every layer and every concatenation.
    """
    return alt.InlineData(values=tuple({k: _fit(v) for k, v in row.items()} for row in rows))


def _fit(value: Any) -> Any:
    return one_line(value) if isinstance(value, str) and not value.isprintable() else value


def options(**given: Any) -> Any:
    """Options of an axis, a scale or a heading.

    A dict, since Altair copies its own classes, with all of their eighty unset fields, for every layer.
    """
    return given


def scale(low: float, high: float) -> Any:
    """A scale with just these ends."""
    return options(domain=[low, high], nice=False, zero=False)


def fixed(channel: str, value: float | str) -> Any:
    """A place or a colour that is the same for all marks, of the channel's own class.

    Of ``alt.value``, a dict, Altair finds the class anew each time, by hashing all that it has.
    """
    return getattr(alt, f"{channel}Value")(value)


def text_width(text: str, size: float = TEXT) -> float:
    """About how wide a line is in print, in pixels."""
    return sum(0.3 if c in " .,'|il:;!()[]fjt·" else 0.85 if c in "MWmw@%—…" else 0.57 for c in text) * size


def fitted(text: object, width: float, size: float = TEXT) -> str:
    """A text on one line of a width, in pixels, cut in the middle where it is too long."""
    line = one_line(text)
    wide = text_width(line, size)
    return line if wide <= width else shortened(line, max(4, int(len(line) * width / wide)))


def wrapped(text: str, width: float, size: float = TEXT) -> list[str]:
    """A text in lines of a width, in pixels; a word is never broken."""
    lines = [""]
    for word in one_line(text).split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


_SURE = 0.9
"""Of a title's room that its lines take: where Helvetica is missing, another font's letters are wider."""


def panel_heading(name: str, second: str, width: float) -> Any:
    """What stands above one panel of several: its name, and a line below it."""
    head, dot, last = name.rpartition(" · ")
    if dot and text_width(name, WIDE_HEADING) > width:  # its last part has room on the second line
        name, second = head, f"{last}, {second}" if second else last
    return options(
        text=fitted(name, width, WIDE_HEADING) or "\u00a0",
        subtitle=fitted(second, width + 8) or "\u00a0",
        anchor="start",
        frame="group",
        offset=4,
        color=INK,
        subtitleColor=SOFT,
        fontSize=HEADING,
        subtitleFontSize=TEXT,
    )


def title_lines(title: str, subtitle: str, width: float) -> tuple[list[str], list[str]]:
    """A title and what stands below it, in lines of a width, in pixels."""
    below = wrapped(subtitle, _SURE * width, TEXT) if subtitle else []
    return wrapped(title, _SURE * width, TITLE), below


def finished(chart: Any, *, width: int, title: str = "", subtitle: str = "") -> Any:
    """A chart with its title and the common settings."""
    if title:
        lines, below = title_lines(title, subtitle, width)
        chart = chart.properties(
            title=options(
                text=lines,
                subtitle=below,
                anchor="start",
                frame="bounds",
                fontSize=TITLE,
                subtitleFontSize=TEXT,
                offset=MARGIN,
            )
        )
    return chart.configure(
        font=FONT,
        background=PAPER,
        aria=False,  # but for marks that say what they are about
        padding=MARGIN if title else BARE,
        view=alt.ViewConfig(stroke=None),
        title=alt.TitleConfig(color=INK, subtitleColor=SOFT, fontWeight=600),
        axis=alt.AxisConfig(
            labelColor=SOFT,
            titleColor=SOFT,
            gridColor=RULE,
            domainColor=SOFT,
            tickColor=SOFT,
            labelFontSize=TEXT,
            titleFontSize=TEXT,
            titleFontWeight="normal",
        ),
    )


def in_rows(panels: Sequence[Any], fit: int, spacing: float, **how: Any) -> list[Any]:
    """Panels side by side, so many in a row."""
    starts = range(0, len(panels), fit)
    return [alt.hconcat(*panels[start : start + fit], spacing=spacing, **how) for start in starts]


def texts(rows: list[dict[str, Any]], y: Any, x: Any = None, **look: Any) -> Any:
    """Texts, each in its row's place; from the left edge where no place across is given."""
    shown: dict[str, Any] = {"fontSize": TEXT, "color": INK, "align": "left", **look}
    drawn = Layer(inline(rows)).mark_text(**shown)
    return drawn.encode(y=y, x=fixed("X", 0) if x is None else x, text=WRITTEN)


ABOUT: Any = alt.Description("about:N")
"""The channel that takes the column ``about`` to the picture."""

COLOUR: Any = alt.Color("ink:N", scale=None)
INKED: Any = alt.Fill("ink:N", scale=None)
FILL: Any = alt.Fill("fill:N", scale=None)
SHAPE: Any = alt.Shape("shape:N", scale=None)
WRITTEN: Any = alt.Text("text:N")
"""The channels whose columns hold what is drawn: colours, fillings, shapes, texts."""

_WRITTEN = re.compile(r"(\d*)\.(\d*)\|(.*)", re.DOTALL)


def about(estimate: Estimate, results: Results) -> str:
    """An estimate in words, behind the places of its prompt and its model in the study."""
    return f"{place_of(estimate, results)}|{sentence(estimate, results)}"


def place_of(estimate: Estimate, results: Results) -> str:
    """The places of an estimate's prompt and model, from 1; empty where it is of no one of several."""
    model = estimate.cell.get("model", "")
    at = str(results.models.index(model) + 1) if len(results.models) > 1 and model in results.models else ""
    return f"{results.prompt_places.get(_prompt(estimate, results), '')}.{at}"


def _prompt(estimate: Estimate, results: Results) -> str:
    """The variant that it is of, or the only one that has its level of a factor."""
    if "variant" in estimate.cell:
        return estimate.cell["variant"]
    factor, level = estimate.cell.get("factor", ""), estimate.cell.get("level", "")
    some = [name for name, levels in results.factor_levels.items() if levels.get(factor) == level]
    return some[0] if len(some) == 1 else ""


def plainly(
    names: Iterable[str],
    value: float,
    percent: bool = False,
    ends: tuple[float | None, float | None] = (None, None),
) -> str:
    """A mark of which no more is known than its names and numbers, in words.

    >>> plainly(["small", "", "warm"], 0.5, True, (0.25, 0.75))
    '.|small, warm: 50%, interval 25% to 75%'
    """
    subject = ", ".join(dict.fromkeys(name for name in names if name))
    said = printed(value, percent)
    if ends[0] is not None and ends[1] is not None:
        said += f", interval {printed(ends[0], percent)} to {printed(ends[1], percent)}"
    return f".|{subject}: {said}" if subject else f".|{said}"


def named(name: str, width: float) -> dict[str, str]:
    """A name as a chart writes it, in so many pixels, and the whole of it where it is shortened.

    >>> named("short", 80), named("a name that is much too long", 80)["about"]
    ({'text': 'short', 'about': ''}, '.|a name that is much too long')
    """
    text, whole = fitted(name, width), one_line(name)
    return {"text": text, "about": "" if text == whole else f".|{whole}"}


def by_model(some: Iterable[str]) -> bool:
    """Whether some marks say which of several models they are of."""
    return any((match := _WRITTEN.match(one)) and match[2] for one in some)


def taken_apart(written: str) -> tuple[str, str, str] | None:
    """The place of the prompt, that of the model, and the words; None if it was not written here."""
    match = _WRITTEN.fullmatch(written)
    return (match[1], match[2], match[3]) if match else None


def look(index: int, *, coloured: bool = True) -> dict[str, str]:
    """Colour, filling and shape of a series: no two of the first seven differ by colour alone."""
    ink = DATA[index % len(DATA)] if coloured else SOFT
    fill = ink if index % 2 == 0 else PAPER
    return {"ink": ink, "fill": fill, "shape": SHAPES[index % len(SHAPES)]}


def legend(series: Sequence[str], width: int, *, coloured: bool = True, solid: bool = False) -> Any:
    """The series with their marks, in as many lines as they take."""
    rows: list[dict[str, Any]] = []
    x, y = 6.0, 0
    for index, name in enumerate(series):
        written = named(name, 240)
        wide = text_width(written["text"]) + 36
        if x + wide > width and x > 6:
            x, y = 6.0, y + 1
        shown = look(index, coloured=coloured)
        if solid:
            shown |= {"fill": shown["ink"], "shape": "square"}
        rows.append({"x": x, "y": y, **written, **shown})
        x += wide
    base = (
        Layer(inline(rows))
        .encode(
            x=alt.X("x:Q", scale=scale(0, width), axis=None),
            y=alt.Y("y:Q", scale=scale(y + 0.5, -0.5), axis=None),
        )
        .properties(width=width - 20, height=19 * (y + 1))
    )
    points = base.mark_point(size=46, opacity=1, strokeWidth=1.4).encode(color=COLOUR, fill=FILL, shape=SHAPE)
    cut = any(row["about"] for row in rows)
    described = {"description": ABOUT} if cut else {}
    texts = base.mark_text(align="left", dx=9, fontSize=TEXT, color=INK, aria=cut)
    return points + texts.encode(text=WRITTEN, **described)
