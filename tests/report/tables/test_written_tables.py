"""A table as data: each number in the column that its heading names."""

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.tables.table import Table, estimates_table
from quaver.report.tables.written_tables import tidy


def test_an_interval_becomes_two_columns_with_its_ends_in_their_order():
    ends = Markup('<data value="0.25">25%</data> to <data value="0.5">50%</data>')
    table = Table(("what", "interval"), (("a", ends),), frozenset({1}))
    assert tidy(table).to_dicts() == [{"what": "a", "interval low": 0.25, "interval high": 0.5}]


def test_the_p_value_beside_an_estimate_is_the_adjusted_one():
    details = {"p": 0.01, "p_holm": 0.04, "comparisons": 4}
    data = tidy(estimates_table([Estimate("m", 0.5, 0.4, 0.7, n=9, details=details)]))
    (row,) = data.to_dicts()
    assert 0.04 in row.values()
    assert 0.01 not in row.values()


def test_the_numbers_below_a_chart_name_a_factor_as_the_study_does():
    cells = [{"factor": "factor_output × tone", "level": "score × kind"}, {"level": "factor_output"}]
    shown = estimates_table([Estimate("accuracy", 0.5, n=6, cell=cell) for cell in cells])
    assert [row[:2] for row in shown.rows] == [("output × tone", "score × kind"), ("all", "factor_output")]
