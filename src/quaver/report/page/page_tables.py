"""Every table of the page, by the name of its files in ``tables/``."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from quaver.core.estimate_frame import Deviations
from quaver.report.estimate_index import Results
from quaver.report.table_rows import Table, left_out, noise_table, statuses, undefined_table
from quaver.report.tables.audit_tables import (
    accepted_table,
    coders_table,
    compliance_table,
    flips_table,
    missing_table,
    parse_rates_table,
    recovered_table,
    treatment_table,
)
from quaver.report.tables.cost_tables import Behind, cost_table, part_cost_table
from quaver.report.tables.item_tables import worst_items_table


def page_tables(results: Results, deviations: Deviations | None, behind: Behind | None) -> dict[str, Table]:
    """The tables by name, those without rows among them."""
    tables = {
        "statuses": statuses(results),
        "compliance": compliance_table(results),
        "missing": missing_table(results),
        "evaluators": flips_table(results),
        "recovered": recovered_table(results),
        "parse-rates": parse_rates_table(results),
        "coders": coders_table(results),
        "worst-items": worst_items_table(results, deviations, behind),
        "cost": cost_table(behind.costs() if behind else ()),
        "factor-cost": part_cost_table(behind.part_costs() if behind else ()),
        "noise": noise_table(results),
        "unmeasured": undefined_table(results),
        "left-out": _left_out_table(results),
        "accepted": accepted_table(results),
        "treatment": treatment_table(results),
    }
    return {name: replace(table, name=name) for name, table in tables.items()}


def _left_out_table(results: Results) -> Table:
    rows = tuple(
        (measure, kind.replace("_", " "), f"{n:,}", f"{count:,}")
        for measure, kind, n, count in left_out(results)
    )
    return Table(("measure", "what", "estimates", "times"), rows, frozenset({2, 3}))


def summary_frame(results: Results) -> pl.DataFrame:
    """The annotations counted: a row a model, variant, decoding, evaluator, status and label."""
    wanted = ("model", "variant", "decoding", "evaluator", "gold", "status", "label")
    there = [name for name in wanted if name in results.annotations.columns]
    if results.annotations.is_empty() or not there:
        return pl.DataFrame()
    counted = results.annotations.group_by(there).agg(annotations=pl.len())
    return counted.with_columns(pl.col(name).cast(pl.String) for name in there).sort(there)
