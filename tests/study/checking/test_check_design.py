"""What a check would ask: the instruction in other words, shown before any text is asked about."""

from tests.models import provider_rig as rig
from typer.testing import CliRunner

import quaver
from quaver.cli.main import app


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
