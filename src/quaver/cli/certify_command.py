"""``quaver certify``: how far a study's own intervals and tests can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from quaver.cli.console import JsonOption, print_by_field, printer, say, say_field, screen, table
from quaver.cli.study_options import HERE, FieldOption, FunctionOption, StudyArgument, open_fields
from quaver.core.number_format import percent, span

if TYPE_CHECKING:
    from quaver.certification.coverage import Line
    from quaver.core.records import Estimate
    from quaver.study.analysis.study_certification import StudyCertificate


def command(
    study: StudyArgument = HERE,
    replications: Annotated[int | None, typer.Option(min=1)] = None,
    exact: bool = False,
    as_json: JsonOption = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Check intervals and tests on simulated studies like yours.

    Shows how often the intervals cover the truth and how often the tests err. Asks nothing.

    Options:
      replications: Simulate this many studies; by default a minute's worth.
      exact: Simulate 2,000 studies, with as many resamples as the study.

    Examples:
      quaver certify study.yaml
      quaver certify study.yaml --exact
    """
    from quaver.design.items.near_duplicates import NEAR_DUPLICATES

    tell = printer("certify", NEAR_DUPLICATES=NEAR_DUPLICATES)
    documents = {}
    for name, one in open_fields(study, function, field).items():
        certificate = one.certify(replications=replications, exact=exact)
        documents[name] = {"undeclared": certificate.undeclared, **certificate.certificate.document()}
        if as_json:
            continue
        say_field(name)
        tell("explained", certificate)
        shown, without = _rows(certificate)
        screen.print(table(*_filled(shown)))
        tell("beside", certificate, without)
        if one.source.keeps_results:
            say(f"The certificate is in {one.folder / 'certified.json'}; the next report shows it.")
    if as_json:
        print_by_field(documents)


_COLUMNS = ("measure", "estimand", "interval", "covers", "status", "width", "type I", "power", "warned")


def _rows(certificate: StudyCertificate) -> tuple[list[tuple[str, ...]], list[str]]:
    """A row for each line that has a number, and the names of the others."""
    made = certificate.certificate
    own = {
        (place.measure, place.name, place.estimand): estimate
        for place, estimate in zip(made.places, certificate.estimates, strict=True)
    }
    rows: list[tuple[str, ...]] = []
    without: list[str] = []
    for line in made.lines:
        row = (
            _name(line),
            line.estimand,
            _interval(line, own[line.measure, line.name, line.estimand]),
            _with_error(line.coverage, line.coverage_error),
            line.verdict,
            "" if line.width is None else f"{line.width:.2f}",
            _with_error(line.rejected, line.rejected_error),
            "" if line.power is None else percent(line.power),
            "" if line.unwarned is None else percent(1 - line.unwarned),
        )
        if line.coverage is not None or line.rejected is not None or line.power is not None:
            rows.append(row)
        else:
            without.append(_name(line))
    return rows, without


def _name(line: Line) -> str:
    from quaver.study.sources.conclusion_measures import CONCLUSIONS  # what it needs is loaded by now

    if line.measure == CONCLUSIONS:
        return line.name
    return line.measure if line.measure.startswith(line.name) else f"{line.name} ({line.measure})"


def _filled(rows: Sequence[Sequence[str]]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """The columns in which something stands, and the rows' cells in them."""
    filled = [index for index in range(len(_COLUMNS)) if index < 2 or any(row[index] for row in rows)]
    return [_COLUMNS[index] for index in filled], [[row[index] for index in filled] for row in rows]


def _interval(line: Line, estimate: Estimate) -> str:
    """The study's own interval, or how many there are."""
    if line.places > 1:
        return f"{line.places} estimates"
    return span(estimate.low, estimate.high) or "none"


def _with_error(share: float | None, error: float | None) -> str:
    if share is None:
        return ""
    points = 100 * (error or 0.0)
    return f"{percent(share)} ± {points:.{0 if points >= 2 else 1}f}"
