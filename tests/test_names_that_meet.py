"""A study's factors and groups may have any name: Quaver's own columns keep theirs, and nothing is lost."""

import csv
import json
import re

import polars as pl
import pytest
from tests.view.viewed import client

from quaver import Study, measures
from quaver.bundles.packing import bundle
from quaver.comparison.paired_comparison import compare
from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.core.column_names import RESERVED, column_of
from quaver.core.estimate_frame import estimates_frame
from quaver.design.spec.models_spec import GRID_SETTINGS
from quaver.papers import catalogue
from quaver.view.queries import FIELDS

TWO = ("tone", "output")
"""The factor of two levels, without and with names that meet."""
OWN = (*sorted(RESERVED), "Output", "label_match.label")
"""Every column there is, one in other letters, and one of an evaluator."""


def study_of(folder, factors=(), groups=()):
    """Six items and two prompts, with factors and groups of these names."""
    folder.mkdir()
    with (folder / "items.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["own id", "said", "truth", *groups])
        for n in range(6):
            writer.writerow([f"i{n}", f"Thing {n}", "yes" if n % 2 else "no", *["ab"[n // 3]] * len(groups)])
    levels = {name: ["set"] for name in factors} | {TWO[bool(factors)]: ["label", "score"]}
    parts = {} if factors else {level: {"when": {"tone": level}} for level in levels["tone"]}
    by = ["model", *factors[:1], *(column_of("group", one) for one in groups[:1])]
    document = {
        "name": "names",
        "task": {"labels": ["yes", "no"]},
        "items": {
            "source": "items.csv",
            "id": "own id",
            "text": "{{ said }}",
            "gold": "truth",
            "groups": list(groups),
        },
        "prompt": {"instruction": "Is it?", "postfix": "Answer yes or no."},
        "variants": [{"use": "factors", "factors": levels, "parts": parts}],
        "models": [{"name": "fake", "use": "function"}],
        "decoding": {"greedy": {"temperature": 0}},
        "repeats": 2,
        "evaluators": ["label_match"],
        "measures": ["accuracy", {"use": "compliance", "by": by}],
    }
    path = folder / "names.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    study = Study.open(path, functions={"fake": lambda text, prompt: f"yes, {text}"})
    study.run()
    return study


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    return study_of(tmp_path_factory.mktemp("names") / "named", OWN, OWN)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return study_of(tmp_path_factory.mktemp("names") / "plain")


def exported(study, form, folder):
    path = folder / f"calls.{form}"
    study.export(path)
    if form == "jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return (pl.read_csv(path, infer_schema=False) if form == "csv" else pl.read_parquet(path)).to_dicts()


def columns_there_are(study, folder):
    """The columns of every table that has a study's own beside them, from the code that makes them."""
    yield from (*ANNOTATION_COLUMNS, *GRID_SETTINGS, *estimates_frame([], whole=True).columns, *FIELDS)
    yield from (name for name in exported(study, "parquet", folder)[0] if "." not in name)
    yield from (name for row in study.variants.rows() for name in row)
    frame = study.annotations()
    yield from measures.item_stability(frame).columns
    for name in measures.__all__:
        taken = getattr(measures, name)
        if not hasattr(taken, "estimands"):
            continue
        try:
            estimates = taken(frame, by=[], labels=study.source.experiment.labels)
        except Exception:  # it needs what this study lacks
            continue
        yield from (column for one in estimates for column in one.cell)


def test_every_column_there_is_keeps_its_name(plain, tmp_path):
    assert set(columns_there_are(plain, tmp_path)) - RESERVED == {"tone"}
    assert all(column_of("factor", name) == f"factor_{name}" for name in OWN)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_no_raw_answer_is_lost_from_an_export(named, plain, form, tmp_path):
    found, expected = exported(named, form, tmp_path), exported(plain, form, tmp_path)
    own = {column_of("factor", name): "set" for name in OWN if name != "output"}
    groups = [column_of("group", name) for name in OWN]
    apart = {"tone", "variant", "received", "latency", "key", "seed", "prompt"}
    assert len(found) == len(expected) == 6 * 2 * 2
    for row, usual in zip(found, expected, strict=True):
        assert set(row) == {*usual, *own, *groups, "factor_output"} - {"tone"}
        assert {name: row[name] for name in own} == own
        assert {row[name] for name in groups} == {"a" if row["item"] < "i3" else "b"}
        assert {k: v for k, v in row.items() if k in usual.keys() - apart} == {
            k: v for k, v in usual.items() if k not in apart
        }
        assert row["output"] == f"yes, Thing {row['item'][1]}"


def test_annotations_estimates_and_tables_have_each_column_once(named, plain):
    frame = named.annotations()
    more = [column_of(kind, name) for kind in ("factor", "group") for name in OWN]
    assert set(frame.columns) == {*plain.annotations().columns, *more} - {"tone"}
    assert [one.value for one in named.estimates("accuracy")] == [
        one.value for one in plain.estimates("accuracy")
    ]
    for one in named.estimates("compliance"):
        assert {f"factor_{OWN[0]}", f"group_{OWN[0]}"} <= set(one.cell)
    assert all(row[f"factor_{name}"] == "set" for row in named.variants.rows() for name in OWN[:9])
    for name in ("stability-views", "prompts", "factor-levels", "intra-stability"):
        made, usual = catalogue.table(named, name), catalogue.table(plain, name)
        assert len(set(made.columns)) == len(made.columns)
        assert len(made.table.rows) == len(usual.table.rows)
    assert catalogue.table(named, "stability-views").table == catalogue.table(plain, "stability-views").table


def test_a_name_that_is_written_in_the_file_means_the_study_s_own_where_nothing_else_has_it(tmp_path):
    study = study_of(tmp_path / "one", ("output", "status"), ("prompt",))
    assert {"model", "factor_output", "group_prompt"} <= set(study.estimates("compliance")[0].cell)
    (one,) = study.measure("compliance", by=["status"])  # Quaver's own column is meant
    assert one.cell["status"] == "valid"


def test_the_viewer_filters_by_them(named):
    browser = client(named.source.folder)
    address = "api/studies/names"
    for name in ("label", "prompt", "text", "is", "length"):
        for kind, level in (("factor", "set"), ("group", "a")):
            shown = browser.get(f"{address}/answers?q={kind}_{name}:{level}").json()
            assert shown["total"] == (24 if kind == "factor" else 12), (name, shown)


@pytest.mark.long
def test_a_bundle_a_comparison_and_a_report_have_them(named, tmp_path):
    path, _ = bundle(named, tmp_path / "names.quaver.zip")
    packed = Study.open(path)
    assert packed.annotations().equals(named.annotations())
    assert packed.variants.rows() == named.variants.rows()
    for by in ("output", "factor_output"):
        found = compare(packed, by=by, reference="label", measures=["accuracy"], resamples=50)
        assert (found.before, found.items) == ("factor_output label", 6)
    said = named.report(tmp_path).read_text(encoding="utf-8")
    assert re.search(r"<td[^>]*>\s*output\s*</td>", said)
