"""The texts that answers mark differently: the most frequent marks, the others, and what is in no text."""

import polars as pl

from quaver.report.estimate_index import Results
from quaver.report.tables.study_tables import spans_table

ROWS = [
    ("a", "person[0:3]", "person: Ada", "exact"),
    ("a", "person[0:3]", "person: ADA", "alike"),
    ("a", "person[0:3];place[9:14]", "person: Ada; place: Turin", "exact"),
    ("b", "", "place: Paris", "invented"),
    ("b", "", "", "none"),
    ("b", "place[0:6]", "place: London", "exact"),
    ("b", "person[0:6]", "person: London; place: Paris", "invented"),
    ("c", "place[0:6]", "place: London", "exact"),
    ("c", "place[0:6]", "place: London", "exact"),
    ("d", None, None, None),
]


class _Texts:
    def texts(self, items):
        return {item: f"the text of {item}" for item in items}

    def media(self, items):
        return {}


def test_the_items_that_most_answers_mark_differently_come_first():
    names = ["item", "spans", "quote", "quote_status"]
    frame = pl.DataFrame(ROWS, names, orient="row")
    table = spans_table(Results({"variants": []}, frame, ()), _Texts())
    assert table.columns[2:4] == ("most frequent marks", "other marks")
    assert [row[:4] for row in table.rows] == [
        (
            "b",
            "the text of b",
            "nothing",
            "place: London | person: London; place: Paris (not all of it is in the text)",
        ),
        ("a", "the text of a", "person: Ada", "person: Ada; place: Turin"),
    ]
    assert not spans_table(Results({"variants": []}, frame.drop("spans"), ()), None).rows
