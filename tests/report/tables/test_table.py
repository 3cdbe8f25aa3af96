from quaver.core.records import Estimate
from quaver.report.tables.table import estimates_table


def test_the_numbers_below_a_chart_name_a_factor_as_the_study_does():
    cells = [{"factor": "factor_output × tone", "level": "score × kind"}, {"level": "factor_output"}]
    shown = estimates_table([Estimate("accuracy", 0.5, n=6, cell=cell) for cell in cells])
    assert [row[:2] for row in shown.rows] == [("output × tone", "score × kind"), ("all", "factor_output")]
