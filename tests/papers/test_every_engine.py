"""Every table and figure of each paraphrase engine's study, of one and of several: none fails or is blank.

A day's suite makes each of them in three of these ten places or more, and in three days in all.
"""

import re
from contextlib import suppress
from importlib.metadata import EntryPoint

import pytest
from tests.papers import small
from tests.samples import drawn
from typer.testing import CliRunner

from quaver import open_studies
from quaver.cli import console
from quaver.cli.main import app
from quaver.core import registry
from quaver.errors import ModelError, QuaverError
from quaver.papers import catalogue, figure, figures, table, tables
from quaver.report.charts.svg import svg_text

pytestmark = pytest.mark.long

ENGINES = {
    "file": "engine: file, path: words.csv",
    "surface": "engine: surface, strengths: [0.2, 0.6], k: 2",
    "llm": "engine: llm, model: small, temperatures: [0.7, 1.2], k: 2",
    "llm of each": "engine: llm, each: [small, large], temperatures: [0.7, 1.2], k: 2",
    "llm beside": "engine: llm, model: {use: rewording}, temperatures: [0.7, 1.2], k: 2",
}
"""How each engine is asked for; Pegasus, which needs an extra, is tested with its own."""

ABSENT = {f"karmakar-2026:{number}" for number in "1234"}
"""Figures of what these studies do not ask for: reasoning, stated confidence, sizes."""

FILLED = {
    *("intra-by-repeat", "inter-by-temperature", "subsamples", "poor-prompts"),
    *("costs", "cost-shares", "other-prices"),
    *("items", "matrix", "label-shares", "before-and-after"),
    *("question-configurations", "questions", "configurations"),
    *("lengths", "overall", "prompts"),
}
"""Tables that have numbers whatever engine made the paraphrases."""

VERBS = ("Choose", "Name", "Tell", "Give", "State", "Say", "Report", "Write")
STUDY = """\
name: engines
shared:
  prompt: {{instruction: "Which side is it, {{{{ answers | join(' or ') }}}}?", postfix: Answer A or B.}}
  variants:
    - {{use: paraphrases, {engine}}}
{more}
"""


class Rewording(small.Planted):
    """A planted annotator that rewords, too."""

    def _said(self, request, prompt, repeat):
        if "New instruction:" not in prompt:
            return super()._said(request, prompt, repeat)
        number = int(8 * small.chance(request.decoding.temperature, request.seed, repeat))
        return (f"{VERBS[number]} the side that it is on, {{{{ answers | join(' or ') }}}}, please.",)


@pytest.fixture(scope="module", params=ENGINES)
def asked(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engines")
    entry = EntryPoint("rewording", "tests.papers.test_every_engine:Rewording", "quaver.models")
    registry._entries("models")["rewording"] = entry  # as an installed package would
    small.written("barrie-2025", folder)
    more = small.MODELS.replace("use: planted", "use: rewording")
    more += "  decoding:\n    again: {temperature: 0.1, repeats: 3, only: {paraphrase: original}}\n"
    more += "    reworded: {temperature: 0.1, repeats: 2}\n"
    head, _, studies = more.partition("studies:\n")
    decoding = studies[studies.index("  decoding") :]
    text = STUDY.format(engine=ENGINES[request.param], more=head + decoding)
    path = folder / "engines.yaml"
    path.write_text(f"{text}studies:\n{studies.partition('  decoding')[0]}", encoding="utf-8")
    studies = open_studies(path)
    for study in studies.values():
        with suppress(ModelError):  # some of the first answers have no label: the next run goes on as it is
            study.run()
        study.run()
    return request.param, studies


@pytest.fixture
def stored(asked):
    return asked[1]


@pytest.fixture(params=["several", "one"])
def place(asked, request):
    """What tables and figures are made of, and its number among the places."""
    engine, studies = asked
    is_one = request.param == "one"
    return (studies["first"] if is_one else studies), 2 * [*ENGINES].index(engine) + is_one


def test_every_engine_is_tried():
    tried = {text.removeprefix("engine: ").partition(",")[0] for text in ENGINES.values()}
    assert {*registry.names("paraphrasers")} == tried | {"pegasus"}


def test_every_table_is_made(place):
    source, number = place
    names, filled = drawn(tables(), 3, number), set()
    for name in names:
        made = table(source, name)
        assert made.rows() or made.notes, name
        if any(isinstance(value, float) for row in made.rows() for value in row.values()):
            filled.add(name)
        for each in catalogue.kind_of(name).printed(made):
            assert all(len(row) == len(each.columns) for row in each.table.rows), name
            assert each.table.rows or each.notes, name
    assert filled >= FILLED & {*names}


def test_every_figure_is_drawn_or_says_what_is_missing(place):
    source, number = place
    names, made = drawn(figures(), 3, number), set()
    for name in names:
        try:
            picture = figure(source, name)
        except QuaverError:
            continue
        assert len(re.findall("<path", svg_text(picture))) > 5, name
        made.add(name)
    assert made == {*names} - ABSENT


@pytest.mark.parametrize("name", ["costs", "cost-shares", "other-prices"])
def test_paraphrases_that_a_model_wrote_have_a_price(stored, name):
    rows = table(stored, name).rows()
    assert rows
    by_model = "small" in str(stored["first"].spec.variants) and name != "other-prices"
    wrote = [row for row in rows if row["model"] == "small (paraphrases)"]
    assert bool(wrote) == by_model
    assert all(row["US dollars" if name == "costs" else "total cost"] > 0 for row in wrote)


def test_a_note_in_every_prompt_is_compared(stored, monkeypatch):
    monkeypatch.setattr(console.screen, "_width", 200)
    folder = stored["first"].folder
    path = folder.with_name(f"{folder.name}.yaml")
    asked = ["compare", str(path), "--note", "Look at the side alone.", "--flips", "0"]
    done = CliRunner().invoke(app(["compare"]), asked)
    assert done.exit_code == 0, done.output
    compared, _, worst = done.output.partition("Sensitivity, consistency and the share of right answers")
    for measure in ("sensitivity", "consistency", "accuracy"):
        for model in ("small", "large"):
            assert re.search(rf"^{measure} +model {model}, .* \d[\d.%]* +\d", compared, re.MULTILINE), (
                compared
            )
    assert {line.split()[0] for line in worst.splitlines() if "  all  " in line} == {"small", "large"}
