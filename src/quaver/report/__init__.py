"""estimates -> tables, charts, one HTML file.

`page.write_report` puts it together: `finding` says in words what was found,
`figures` chooses the charts (`charts`, a family a file), `tables` and `method` what stands beside them.
"""

from __future__ import annotations

from quaver.report.figure import Figure
from quaver.report.figures import figures
from quaver.report.finding import Finding, finding
from quaver.report.page import finding_picture, write_report
from quaver.report.results import Results

__all__ = [
    "Figure",
    "Finding",
    "Results",
    "figures",
    "finding",
    "finding_picture",
    "write_report",
]
