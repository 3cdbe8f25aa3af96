"""A comparison that asks its second study in rounds: what it asks, when it ends, what it costs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.commands import here

import quaver
from quaver.comparison.bounds import Judgement, read_bound
from quaver.comparison.comparing_in_rounds import is_decided
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.paired_comparison import compare
from quaver.core.records import Estimate
from quaver.errors import QuaverError

ITEMS = 400
NO_LOSS, LOSS = ["accuracy > -0.05"], ["accuracy < -0.05"]


def wrong_in(share: int) -> Callable[[str, str], str]:
    """Answers wrongly so many of a hundred texts, spread over them."""

    def annotate(text: str, prompt: str) -> str:
        return "no" if int(text.split()[1]) % 100 < share else "yes"

    return annotate


def study(folder: Path, annotate: Callable[[str, str], str], budget: int | None = None) -> quaver.Study:
    folder.mkdir(parents=True)
    rows = ["text,gold", *(f"text {37 * at % ITEMS},yes" for at in range(ITEMS))]
    (folder / "items.csv").write_text("\n".join(rows), encoding="utf-8")
    given = {
        "name": "s",
        "items": {"source": "items.csv", "text": "{{ text }}", "gold": {"column": "gold"}},
        "task": {"labels": ["yes", "no"]},
        "prompt": {"instruction": "yes or no?"},
        "models": [{"name": "m", "use": "function"}],
        "measures": ["accuracy"],
    } | ({} if budget is None else {"budget": {"calls": budget}})
    (folder / "study.yaml").write_text(json.dumps(given), encoding="utf-8")
    return quaver.Study.open(folder, functions={"m": annotate})


@pytest.fixture
def before(tmp_path: Path) -> quaver.Study:
    opened = study(tmp_path / "before", wrong_in(5))
    opened.run()
    return opened


def test_a_version_without_a_loss_passes_before_all_is_asked(before: quaver.Study, tmp_path: Path) -> None:
    after = study(tmp_path / "after", wrong_in(5))
    found = compare(before, after, fail_unless=NO_LOSS, in_rounds=True)
    assert found.held
    assert found.round is not None
    assert found.round.clear
    assert found.items == found.round.asked == after.status().answered < ITEMS
    assert found.round.wider > 1
    assert found.document()["round"]["asked"] == found.items
    again = compare(before, after, fail_unless=NO_LOSS, in_rounds=True)
    assert again.round == found.round
    assert after.status().answered == found.items


def test_a_loss_fails_as_soon_as_it_is_shown(before: quaver.Study, tmp_path: Path) -> None:
    after = study(tmp_path / "after", wrong_in(40))
    found = compare(before, after, fail_if=LOSS, in_rounds=True)
    assert not found.held
    assert after.status().answered < ITEMS
    assert found.verdict is not None
    assert found.verdict.kind == "loss"


def test_what_is_not_decided_is_asked_to_the_end(before: quaver.Study, tmp_path: Path) -> None:
    after = study(tmp_path / "after", wrong_in(10))
    found = compare(before, after, fail_if=LOSS, in_rounds=True)
    assert found.round is not None
    assert (found.round.number, found.round.asked) == (found.round.rounds, ITEMS)
    assert not found.round.clear
    whole = compare(before, after, fail_if=LOSS)
    (wide,), (narrow,) = (one.judgements[0].judged for one in (found, whole))
    assert wide.value == narrow.value
    assert (wide.low or 0) < (narrow.low or 0) < (narrow.high or 0) < (wide.high or 0)


def test_rounds_within_one_of_many_looks_share_what_the_look_may_spend(
    before: quaver.Study, tmp_path: Path
) -> None:
    after = study(tmp_path / "after", wrong_in(40))
    found = compare(before, after, fail_if=LOSS, looks=20, in_rounds=True)
    assert found.round is not None
    assert found.look is not None
    assert (found.look.number, found.look.again) == (1, False)
    assert found.round.tail < 0.05 * 0.9 / 20
    assert found.look.level == pytest.approx(1 - 2 * found.round.tail)
    again = compare(before, after, fail_if=LOSS, looks=20, in_rounds=True)
    assert again.look is not None
    assert again.look.again
    assert again.look.spent == found.look.spent


def rare(share: int) -> Callable[[str, str], str]:
    """Answers "no" to so many of a hundred texts."""
    return lambda text, prompt: "no" if int(text.split()[1]) % 100 < share else "yes"


@pytest.mark.parametrize(("bounds", "asked"), [(["inter_pss > -0.5"], ITEMS), (["compliance > -0.2"], 50)])
def test_no_round_is_decided_before_each_label_has_its_texts(
    bounds: list[str], asked: int, tmp_path: Path
) -> None:
    """Of 400 texts, 4 have a label: too few for alpha, and nothing to a mean."""
    sides = [study(tmp_path / name, rare(1)) for name in ("one", "other")]
    for side in sides:
        path = side.folder / "study.yaml"
        given = json.loads(path.read_text())
        paraphrases = {"use": "instructions", "texts": {"again": "no or yes?"}}
        path.write_text(json.dumps(given | {"variants": [paraphrases], "measures": ["inter_pss"]}))
    before, after = (quaver.Study.open(side.folder, functions={"m": rare(1)}) for side in sides)
    before.run()
    found = compare(before, after, fail_unless=bounds, in_rounds=True)
    assert found.round is not None
    assert found.round.asked == asked


@pytest.mark.parametrize(("texts", "looks"), [(8, None), (12, 20)])
def test_what_fails_by_its_share_of_the_error_is_a_loss(
    texts: int, looks: int | None, tmp_path: Path
) -> None:
    """Intervals that share the error of all rounds and classes need no allowance for several of them."""
    before = study(tmp_path / "before", wrong_in(0))
    before.run()
    after = study(tmp_path / "after", lambda text, _: "no" if int(text.split()[1]) < texts else "yes")
    found = compare(before, after, fail_if=["loss"], looks=looks, in_rounds=True)
    assert not found.held
    beyond = [one.kind for one in found.losses if (one.estimate.high or 0) < 0]
    assert beyond == ["loss", "loss"]  # accuracy, and recall of the class that all texts have
    assert len(found.judgements[0].failed) == len(beyond)


def test_a_run_that_ends_before_its_round_is_one_error(before: quaver.Study, tmp_path: Path) -> None:
    after = study(tmp_path / "after", wrong_in(5), budget=20)
    with pytest.raises(QuaverError, match="ended before") as caught:
        compare(before, after, fail_unless=NO_LOSS, in_rounds=True)
    assert caught.value.found == "calls"


def test_one_study_has_nothing_to_ask_in_rounds(before: quaver.Study) -> None:
    with pytest.raises(QuaverError, match="two studies"):
        compare(before, by="model", in_rounds=True)


def test_the_command_asks_and_says_what_it_did_without(
    before: quaver.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study(tmp_path / "after", wrong_in(40))
    (tmp_path / "functions.py").write_text(
        "def annotate(text, prompt):\n    return 'no' if int(text.split()[1]) % 100 < 40 else 'yes'\n"
    )
    quaver.bundle(before, tmp_path / "before.zip")
    words = ("compare", "before.zip", "after", "--in-rounds", "--fail-if", LOSS[0])
    done = here(
        tmp_path, *words, "--function", "m=functions:annotate", monkeypatch=monkeypatch, capsys=capsys
    )
    assert done.returncode == 1, done.stderr
    assert f"of {ITEMS} items were asked" in " ".join(done.stdout.split())


def judgement(kind: str, low: float, high: float) -> Judgement:
    bound = read_bound("accuracy < 0" if kind == "if" else "accuracy > 0", kind)  # type: ignore[arg-type]
    one = Estimate("accuracy", (low + high) / 2, low, high)
    failed = [one] if bound.beyond(one) == (kind == "if") else []
    return Judgement(bound, [one], failed)


@pytest.mark.parametrize(
    ("ends", "decided"),
    [
        ([("if", 0.1, 0.2)], True),
        ([("if", -0.2, -0.1)], True),
        ([("if", -0.1, 0.1)], False),
        ([("unless", 0.1, 0.2)], True),
        ([("unless", -0.1, 0.1)], False),
        ([("unless", -0.2, -0.1)], True),
        ([("if", -0.1, 0.1), ("if", -0.2, -0.1)], True),  # whatever comes of the first, the second fails
        ([("if", -0.1, 0.1), ("if", 0.1, 0.2)], False),
    ],
)
def test_what_is_decided(ends: list[tuple[str, float, float]], decided: bool, before: quaver.Study) -> None:
    found = compare(before, before)
    judged = [judgement(*one) for one in ends]
    assert is_decided(replace(found, judgements=judged)) is decided
    assert isinstance(found, Comparison)
