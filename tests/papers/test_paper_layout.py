"""A paper's tables and figures, laid out: names of points, notes, heads."""

from quaver.core.records import Estimate
from quaver.papers.catalogue import FigureKind
from quaver.papers.paper_answers import NOTHING, UNKNOWN
from quaver.papers.paper_figures import lines, points
from quaver.papers.published_table import Layout, PublishedTable, number, reasons, table_of
from quaver.report.tables.table import Table, plain


def _made(values, notes=()):
    rows = tuple((f"m{at}", "1", number(value)) for at, value in enumerate(values))
    return PublishedTable("t", "Caption", Table(("model", "x", "y"), rows, frozenset({1, 2})), notes)


def _drawn(kind, table):
    return str(points(kind, [], table.rows()).page(400, None, 1))


def test_points_that_lie_on_each_other_share_a_name_or_are_counted():
    kind = FigureKind("1", "Title", "points", x="x", y=["y"], name=["model"])
    few = _drawn(kind, _made([0.5, 0.5, 0.7]))
    assert "'m0; m1'" in few
    assert "'m2'" in few
    assert "'m0 and 8 others'" in _drawn(kind, _made([*[0.5] * 9, 0.7]))


def test_the_rows_of_a_table_are_printed_as_its_columns_say():
    row = ("m", 3, 0.1234, Estimate("a", 0.5, 0.25, 0.75), {"one": 0.5, "two": UNKNOWN}, None, (0.1, None))
    declared = "model || n | share {1%} | a {2} | a 95% interval {0%} | of * | none | package's interval"
    made = table_of(declared, [row, ("k", 4, 0.5, 0.25, None, {"three": 1.0}, None, None)], "t")
    heads = ("model", "n", "share", "a", "a 95% interval", "of one", "of two", "of three", "none")
    assert made.columns == (*heads, "package's interval")
    first, second = ([plain(cell) for cell in row] for row in made.rows)
    assert first == ["m", "3", "12.3%", "0.50", "25% to 75%", "0.500", *[NOTHING] * 4]
    assert second == ["k", "4", "50.0%", "0.25", NOTHING, NOTHING, NOTHING, "1.000", NOTHING, NOTHING]


def test_panels_of_scores_stand_from_the_highest_average_to_the_lowest():
    rows = [
        (model, str(at), number(at / size)) for model, size in (("a", 9), ("b", 3), ("c", 5)) for at in (1, 2)
    ]
    made = PublishedTable("t", "Caption", Table(("model", "x", "PSS"), tuple(rows), frozenset({1, 2})))
    kind = FigureKind("1", "Title", "lines", x="x", y=["PSS"], panel=["model"])
    assert [row["panel"] for row in lines(kind, [], made.rows()).rows] == ["b", "b", "c", "c", "a", "a"]


def test_a_layout_says_why_a_value_is_missing_only_where_one_is():
    lacking = [Estimate(name, None, reason="why") for name in "ab"]
    notes = tuple(reasons([("m1", *lacking)]))
    assert notes == ("No value (a, b): why.",)
    layout = Layout("table 1", "Caption", rows=["model"], values={"y": "y"})
    assert layout.of(_made([0.5, 0.6], notes), "t").notes == ()
    printed = layout.of(_made([0.5, None], notes), "t")
    assert printed.notes == notes
    assert printed.table.rows[1][1] == NOTHING
