"""What a paper takes from a study: the table, the paragraph and the references, in every format."""

import re
from html.parser import HTMLParser

import polars as pl
import pytest
from markupsafe import Markup
from typer.testing import CliRunner

import quaver
from quaver import agreement
from quaver.cli.main import app
from quaver.core import registry
from quaver.core.records import Estimate
from quaver.errors import StoreError, UnknownName
from quaver.report.estimate_index import Results
from quaver.report.page.paper_parts import bibtex, cited_works, paper_parts, paper_table, works
from quaver.report.tables.table import Table
from quaver.study.imports.label_import import import_annotations

HOSTILE = r"50% of {A} & \end{tabular} $x_1$ ~ # <script>alert(1)</script> | `x` }"
ANNOTATIONS = "id,annotation,prompt_id,iteration\n" + "".join(
    f"{item},{'ab'[(item + prompt * repeat) % 2]},{prompt},{repeat}\n"
    for prompt in range(3)
    for repeat in range(2)
    for item in range(8)
)


def results(estimates, name="study", **lock):
    labels = {"labels": [{"code": "a", "name": "A"}, {"code": "b", "name": "B"}], "level": "nominal"}
    document = {"study": {"name": name, "seed": 1}, "labels": labels, "items": {"n": 5}, **lock}
    return Results(document, pl.DataFrame(), estimates)


def made(estimates, **lock):
    return paper_parts(results(estimates, **lock), Table((), ()))


def one(measure, value, **more):
    ends = (value - 0.1, value + 0.1)
    return Estimate(measure, value, *ends, confidence_level=0.95, n=5, **more)


def every_source():
    measures = [registry.load("measures", name).source for name in registry.names("measures")]
    return [*measures, *(getattr(agreement, name).source for name in agreement.__all__)]


@pytest.mark.parametrize("source", sorted({one for one in every_source() if re.search(r"\d{4}", one)}))
def test_every_work_that_a_measure_names_has_its_entry(source):
    years = set(re.findall(r"\b(?:1[89]|20)\d\d\b", re.sub(r"arXiv:\S+|doi:\S+|\d+-\d+", "", source)))
    found, unknown = cited_works([Estimate("m", 1.0, reference=source)])
    assert years <= {key[-4:] for key in found}
    assert not unknown


def test_entries_are_whole():
    for entry, _ in works().values():
        assert entry.count("{") == entry.count("}")
        assert {"author", "title", "year"} <= set(re.findall(r"^  (\w+) = ", entry, re.MULTILINE))


def test_a_measure_of_ones_own_becomes_a_note_that_bibtex_can_read():
    text = bibtex([Estimate("mine", 1.0, reference="Me (2021), On { and \\ and %")], "1.0")
    assert text.count("{") == text.count("}")
    assert "Me (2021), On ( and / and" in text


def test_intervals_bring_their_sources():
    plain = one("accuracy", 0.5, method="share; jackknife interval over 5 items")
    crossed = one("inter_pss", 0.5, method="alpha; jackknife interval over 5 items and 3 prompts, for these")
    assert set(cited_works([plain])[0]) == {"efron1981", "korn1998"}
    assert set(cited_works([crossed])[0]) >= {"owen2007", "zou2008"}


def test_the_table_has_intervals_and_ranges_over_prompts():
    single = one("inter_pss", 0.8, cell={"model": "m"})
    prompts = [
        one("accuracy", value, cell={"model": "m", "variant": f"v{value}"}) for value in (0.5, 0.6, 0.8)
    ]
    table = paper_table(results([single, *prompts]))
    cells = [[str(cell) for cell in row] for row in table.rows]
    assert table.columns == ("measure", "estimate", "95% interval", "range", "n")
    assert "0.7" in cells[0][2]
    assert cells[0][3] == ""
    assert "median" in cells[1][1]
    assert cells[1][2] == "", "a range over prompts is no interval"
    assert "over 3 prompts" in cells[1][3]
    assert paper_table(results([single])).columns == ("measure", "estimate", "95% interval", "n")


def test_a_range_whose_ends_are_printed_alike_is_one_number():
    prompts = [one("accuracy", value, cell={"variant": f"v{value}"}) for value in (0.798, 0.8, 0.802)]
    _, value, ends, spread, _ = paper_table(results(prompts)).rows[0]
    assert [Markup(cell).striptags() for cell in (value, ends, spread)] == [
        "80%",
        "",
        "80% in each of 3 prompts",
    ]


def test_models_stand_in_rows_of_their_own():
    some = [one("inter_pss", value, cell={"model": name}) for name, value in (("p", 0.7), ("q", 0.8))]
    assert [row[1] for row in paper_table(results(some)).rows] == ["p", "q"]


def test_latex_has_no_command_that_a_name_brought():
    text = made(
        [one("accuracy", 0.5, cell={"model": HOSTILE}), one("accuracy", 0.6, cell={"model": "b"})],
        name=HOSTILE,
    )
    whole = text.table_as("latex") + text.methods_as("latex")
    assert whole.count(r"\end{tabular}") == whole.count(r"\begin{tabular}") == 1
    bare = re.sub(
        r"\\[&%$#_{}]|\\text\w+\{\}|\\char\d+\{\}|\\ldots\{\}|\\times|-\{\}", "", whole.replace(r"\\{}", " ")
    )
    assert bare.count("{") == bare.count("}")
    body = bare[bare.index(r"\toprule") : bare.index(r"\bottomrule")]
    assert all(line.count("&") == 4 for line in body.splitlines() if line.endswith(r"\\"))
    assert not set("%#_~^") & set(body)


def test_html_has_no_tag_that_a_name_brought():
    tags = set()

    class Parser(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.add(tag)

    text = made(
        [one("accuracy", 0.5, cell={"model": HOSTILE}), one("accuracy", 0.6, cell={"model": "b"})],
        name=HOSTILE,
    )
    Parser().feed(text.table_as("html") + text.methods_as("html") + text._repr_html_())
    assert tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "pre"}


def test_an_unknown_format_is_refused():
    with pytest.raises(UnknownName, match="latx"):
        made([one("accuracy", 0.5)]).table_as("latx")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    (folder / "labels.csv").write_text(ANNOTATIONS)
    return import_annotations(folder / "labels.csv", folder / "study")[0]


def test_a_bundles_paragraph_names_its_digest(study, tmp_path):
    assert "SHA-256 digest" not in study.paper().details
    packed, digest = quaver.bundle(study, tmp_path / "b.quaver.zip")
    opened = quaver.Study.open(packed)
    assert digest in opened.paper().details
    assert opened.paper().table == study.paper().table
    assert digest in opened.report(tmp_path / "out").read_text()


def test_the_command_prints_a_format_or_writes_all(study, tmp_path):
    shown = CliRunner().invoke(app(), ["paper", str(study.folder), "--as", "latex"]).stdout
    assert re.search(r"\\begin{table\*?}", shown)
    assert "@software{quaver," in shown
    CliRunner().invoke(app(), ["paper", str(study.folder), "--to", str(tmp_path / "out")])
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {f"{part}.{end}" for part in ("table", "methods") for end in ("md", "tex", "html")} | {
        "references.bib"
    }


def test_a_folder_that_cannot_be_made_is_an_error(study, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        study.paper().write(tmp_path / "file" / "out")


def test_the_report_has_the_table_the_paragraph_and_the_references(study, tmp_path):
    page = study.report(tmp_path).read_text()
    section = page[page.index('<section id="paper">') : page.index('id="appendix"')]
    assert "<table" in section
    assert "8 items" in section
    assert "@software{quaver," in section
