"""The table of people and models: how far each two of them agree."""

from __future__ import annotations

from markupsafe import Markup

from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.findings.coder_sentences import coder_gaps
from quaver.report.page_numbers import interval, number
from quaver.report.table_rows import Table, shortened_table

_ALL = "all"


def coders_table(results: Results) -> Table:
    """A row for each two people, for each model with each of them, and for each prompt's distance."""
    people = _once(results.known("coder_agreement_coders"))
    beside = [one for one in results.known("coder_agreement_model") if "variant" not in one.cell]
    rows = [_row(_of_people(one), "alpha", one) for one in people]
    several = len(results.decodings) > 1
    rows += [_row(f"{_model(one, several)} and {one.cell['coder']}", "alpha", one) for one in beside]
    for one in coder_gaps(results):
        coder, variant = one.cell["coder"], one.cell.get("variant")
        who = "people with each other" if coder == _ALL else f"{coder} with other people"
        prompt = f" (prompt “{results.variant_name(variant)}”)" if variant else ""
        if coder == _ALL or not prompt:
            rows.append(_row(f"{who}, less with {_model(one, several)}{prompt}", "difference", one))
    rows += [_row(_replaced(one, several), "as good as a person", one) for one in _advantages(results)]
    return shortened_table(("who", "what", "value", "interval", "same label", "items"), rows, {2, 3, 4, 5})


def _row(who: str, what: str, one: Estimate) -> tuple[str | Markup, ...]:
    same = one.details.get("percent")
    share = "" if same is None else number(float(same), percent=True)
    return who, what, number(one.value or 0.0), interval(one), share, f"{one.n or 0:,}"


def _advantages(results: Results) -> list[Estimate]:
    """How often each model agrees with people as well as each person does."""
    return [one for one in results.known("alternative_annotator") if "variant" not in one.cell]


def _replaced(one: Estimate, several: bool) -> str:
    """Whose place the model took; where it was tested, whether it does as well."""
    coder = one.cell["coder"]
    if coder == _ALL:
        return f"{_model(one, several)} in the place of each person, on average"
    won = "does as well" if one.details.get("won") else "not shown to do as well"
    return f"{_model(one, several)} in the place of {coder}: {won}"


def _of_people(one: Estimate) -> str:
    pair = one.cell["coder"]
    return "all people" if pair == _ALL else " and ".join(pair.split(", "))


def _model(one: Estimate, several: bool) -> str:
    """The model, with its decoding where there are several."""
    decoding = one.cell.get("decoding") if several else None
    return f"{one.cell.get('model', 'the model')}{f' ({decoding})' if decoding else ''}"


def _once(some: list[Estimate]) -> list[Estimate]:
    """People with each other, which is the same beside every model: each pair once."""
    return list({one.cell["coder"]: one for one in reversed(some)}.values())[::-1]
