"""The pytest plugin: studies as a fixture, and assertions that say what they found."""

import os
import shutil
import subprocess
import sys

import polars as pl
import pytest
from tests.comparison.test_compared_fields import field_study as compared_field
from tests.comparison.test_paired_comparison import ITEMS, VARIED, curtly, right, study, worse
from tests.test_action import EXAMPLE, RULE

import quaver
from quaver.errors import MeasureError, UnknownName
from quaver.pytest_plugin import assert_no_loss, assert_stable


@pytest.fixture(scope="module")
def fine(tmp_path_factory):
    return study(tmp_path_factory.mktemp("fine") / "a", right, VARIED)


@pytest.fixture(scope="module")
def poorer(tmp_path_factory):
    return study(tmp_path_factory.mktemp("poorer") / "b", curtly, VARIED)


def test_stable_labels_pass(fine):
    (one,) = assert_stable(fine, 0.8)
    assert one.low >= 0.8


def test_unstable_ones_fail_and_the_items_are_named(poorer):
    with pytest.raises(AssertionError, match="inter_pss of 'b'") as caught:
        assert_stable(poorer, 0.95)
    assert "it is lower" in str(caught.value) or "cannot tell" in str(caught.value)
    assert "item i" in str(caught.value)


def test_what_is_not_defined_is_not_stable(tmp_path):
    one = study(tmp_path / "a", right)
    with pytest.raises(AssertionError, match="not defined: "):
        assert_stable(one)
    with pytest.raises(MeasureError):
        assert_stable(one, measure="spread")
    with pytest.raises(UnknownName):
        assert_stable(one, measure="inter_ps")


def test_no_loss_passes_and_a_loss_fails_with_the_items(fine, poorer):
    assert assert_no_loss(fine).held
    assert assert_no_loss(fine, fine, margin=0.07).held
    with pytest.raises(AssertionError, match="Fails: accuracy, a loss of ") as caught:
        assert_no_loss(poorer)  # against the original prompt
    assert "positive → negative (true: positive)" in str(caught.value)
    with pytest.raises(AssertionError, match="60 items in both: a, then b"):
        assert_no_loss(poorer, fine)


def test_with_a_margin_a_loss_must_be_ruled_out(fine):
    with pytest.raises(AssertionError, match=r"a loss of up to 6 points could hide"):
        assert_no_loss(fine, fine, margin=0.02)


def test_a_rise_is_a_loss_where_less_is_better(tmp_path):
    one, other = study(tmp_path / "a", right, VARIED), study(tmp_path / "b", curtly, VARIED)
    with pytest.raises(AssertionError, match="a rise of"):
        assert_no_loss(other, one, measure="spread")
    assert assert_no_loss(one, other, measure="spread").held
    assert worse("like 5", "") == "negative"
    assert ITEMS


def run_pytest(folder, *arguments):
    """Run pytest as in another repository."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.long
def test_the_example_repository_s_tests(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "repository")
    folder = tmp_path / "repository"
    sys.path.insert(0, str(folder))
    try:
        from model import annotate
    finally:
        sys.path.remove(str(folder))
    functions = {"stand-in": annotate}
    before = quaver.Study.open(folder / "prompts" / "tickets.yaml", functions=functions)
    done = run_pytest(folder, "--quaver-offline")
    assert "2 skipped" in done.stdout, done.stdout
    before.run()
    quaver.bundle(before, folder / "main.quaver.zip")
    done = run_pytest(folder, "--quaver-offline")
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    file = folder / "prompts" / "tickets.yaml"
    file.write_text(file.read_text().replace(RULE, ""))
    done = run_pytest(folder)
    assert done.returncode == 1
    assert "AssertionError: Fails: accuracy, a loss of " in done.stdout
    assert "item 102: billing → bug (true: billing)" in done.stdout


def test_a_test_run_that_does_not_use_it_does_not_pay_for_it(tmp_path):
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\n"
        "def test_nothing():\n"
        "    assert 'quaver.pytest_plugin' in sys.modules\n"
        "    heavy = {'numpy', 'polars', 'scipy', 'pydantic', 'quaver.study', 'quaver.comparison'}\n"
        "    assert not heavy & sys.modules.keys()\n"
    )
    done = run_pytest(tmp_path)
    assert "1 passed" in done.stdout, done.stdout


def test_fields_are_guarded_together_or_one_by_name(tmp_path):
    near = compared_field(tmp_path / "near", "amount", lambda at: at * 1.5 + 0.25)
    far = compared_field(tmp_path / "far", "amount", lambda at: at * 1.5 + 2)
    whole, baseline = (quaver.Study(one.source.whole) for one in (far, near))
    assert assert_no_loss(whole, baseline).held  # no number was exact before, either
    assert assert_no_loss(whole, baseline, field="topics").held
    for after, before in ((far, near), (far, baseline), (far, tmp_path / "near"), (whole, near)):
        with pytest.raises(AssertionError, match=r"accuracy_mean_error, a rise of 1\.7"):
            assert_no_loss(after, before, field="amount")
    with pytest.raises(AssertionError, match="accuracy_mean_error, a rise of"):
        assert_no_loss(far, tmp_path / "near")  # of a field, the baseline is too
    assert assert_no_loss(far, near, margin=2).held
    with pytest.raises(UnknownName):
        assert_no_loss(whole, baseline, field="amuont")
    assert_stable(whole, 0.5, measure="compliance", field="amount")


def test_the_fixture_opens_a_field_and_keeps_functions_apart(tmp_path, quaver_study):
    compared_field(tmp_path / "one", "topics", lambda at: ["tax"])
    said = '{"topics": ["tax"], "amount": 0}'
    functions = [{"m": lambda text, prompt: said} for _ in range(2)]
    first, second = (quaver_study(tmp_path / "one", functions=own) for own in functions)
    assert first.source.plugins.functions == functions[0]
    assert second.source.plugins.functions == functions[1]
    assert quaver_study(tmp_path / "one", functions=functions[0]) is first
    topics = quaver_study(tmp_path / "one", functions=functions[0], field="topics")
    assert topics.annotations()["label"].cast(pl.String).unique().to_list() == ["tax"]
