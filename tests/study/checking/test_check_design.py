"""A study file for a table of one's own: it opens as it is, and says what its columns were taken for."""

import pytest
from tests.models import provider_rig as rig
from tests.spreadsheets import write_xlsx
from typer.testing import CliRunner

import quaver
from quaver.cli.main import app
from quaver.errors import QuaverError

ROWS = [
    ("nr", "My tweet", "anna", "ben", "party"),
    *[
        (n, f"this is the text number {n}", *("favor" if n % k else "against" for k in (3, 4)), "dr"[n % 2])
        for n in range(20)
    ],
]


def init(*words):
    result = CliRunner().invoke(app(), ["init", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_a_spreadsheet_of_coders_becomes_a_study(tmp_path, monkeypatch):
    write_xlsx(tmp_path / "texts.xlsx", ROWS)
    monkeypatch.chdir(tmp_path)
    said = init("--from", "texts.xlsx")
    assert "party" in said
    study = quaver.Study.open("texts.yaml")
    spec = study.spec
    assert spec.items.coders == ("anna", "ben")
    assert spec.items.gold.coders == "majority"
    assert [label.code for label in spec.task.labels] == ["against", "favor"]
    assert study.experiment.items[0].fields["My tweet"] == "this is the text number 0"
    assert study.experiment.items[1].gold == "favor"
    assert len(study.experiment.variants) == 10


def test_named_columns_count(tmp_path):
    write_xlsx(tmp_path / "texts.xlsx", {"read me": [("x",)], "data": ROWS})
    path = tmp_path / "mine.yaml"
    init(
        *("--from", str(tmp_path / "texts.xlsx"), str(path), "--sheet", "data", "--gold", "anna"),
        *("--labels", "favor, against, none", "--model", "openai/gpt-5-mini"),
    )
    spec = quaver.Study.open(path).spec
    assert spec.items.gold.column == "anna"
    assert [label.code for label in spec.task.labels] == ["favor", "against", "none"]
    assert spec.models[0].use == "openai_compatible"


def test_columns_of_several_variables_become_fields(tmp_path):
    rows = "".join(f"This is what text {n} says,{'ab'[n % 2]},{n % 7 + 0.5}\n" for n in range(20))
    (tmp_path / "texts.csv").write_text(f"text,tone,cost\n{rows}", encoding="utf-8")
    path = tmp_path / "study.yaml"
    assert "a number (ratio)" in init(
        "--from", str(tmp_path / "texts.csv"), str(path), "--fields", "tone,cost"
    )
    assert [*quaver.Study.open(path).spec.task.fields] == ["tone", "cost"]


@pytest.mark.parametrize(
    "line", ["groups: [party]", "where: {party: d}", "sample: 5", "groups: [party]\n  sample: 5"]
)
def test_what_is_commented_out_can_be_used(tmp_path, line):
    write_xlsx(tmp_path / "texts.xlsx", ROWS)
    path = tmp_path / "study.yaml"
    init("--from", str(tmp_path / "texts.xlsx"), str(path))
    text = path.read_text(encoding="utf-8")
    assert all(f"#{part.partition(':')[0].strip()}:" in text for part in line.split("\n"))
    path.write_text(text.replace("  #sample: 100", f"  {line}\n  #sample: 100", 1), encoding="utf-8")
    found = quaver.Study.open(path).experiment.items
    assert len(found) == {"where: {party: d}": 10}.get(line, 5 if "sample" in line else 20)


def test_one_file_for_one_thing(tmp_path):
    write_xlsx(tmp_path / "texts.xlsx", [("a", "b"), (1, 2)])
    for words in (["stability", "--from", "x.csv"], ["--from", str(tmp_path / "texts.xlsx")]):
        result = CliRunner().invoke(app(), ["init", *words])
        assert result.exit_code != 0
    (tmp_path / "texts.yaml").write_text("mine")
    write_xlsx(tmp_path / "texts.xlsx", ROWS)
    words = ["init", "--from", str(tmp_path / "texts.xlsx"), str(tmp_path / "texts.yaml")]
    result = CliRunner().invoke(app(), words)
    assert isinstance(result.exception, QuaverError | SystemExit)
    assert (tmp_path / "texts.yaml").read_text() == "mine"


def test_a_model_puts_the_instruction_in_other_words_and_they_are_shown_first(tmp_path):
    def answer(body, path, n):
        asked = str(body["messages"])
        if "New instruction" not in asked:
            return rig.chat(body, "negative" if "bad" in asked else "positive")
        words = ("Say", "Judge", "Decide", "State", "Tell")[n % 5]
        return rig.chat(body, f"{words} whether it is {'good' if n % 5 == 1 else 'positive or negative'}.")

    rows = "".join(f"{n},This is a {'bad' if n % 2 else 'good'} thing {n} indeed.\n" for n in range(12))
    (tmp_path / "texts.csv").write_text(f"id,text\n{rows}", encoding="utf-8")
    with rig.rigged(answer) as provider:
        words = ["check", str(tmp_path / "texts.csv"), "--labels", "positive,negative", "--model", "m"]
        words += ["--base-url", provider.url, "--price", "0.1/0.2", "--paraphrase-with", "m", "--n", "6"]
        words += ["--instruction", "Is the tone positive or negative?"]
        refused = CliRunner().invoke(app(), [*words, "--budget", "1"])  # to spend, not to use what it writes
        about_texts = [body for _, _, body in provider.sent if "indeed" in str(body)]
        shown = [
            *("Decide whether it is positive or negative.", "State whether it is positive or negative."),
            "Judge whether it is good.  [lost labels: positive, negative]",
        ]
        assert refused.exit_code == 1
        assert [one for one in shown if one not in refused.output] == [], refused.output
        assert about_texts == []
        written = len(provider.sent)
        agreed = CliRunner().invoke(app(), [*words, "--yes"])
        assert agreed.exit_code == 0, agreed.output
        assert len(provider.sent) == written + 6 * 10 * 2
    study = quaver.Study.open(tmp_path / "texts-check")
    assert len({one.instruction for one in study.experiment.variants}) == 5
    assert "none of them rewords the instruction" not in study.verdict().verdict
