"""The annotations of a comparison, read back as GitHub's runner reads a log."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compared import HOSTILE, LOSS, comparison, difference
from tests.workflow_commands import commands_in

from quaver.comparison.pull_request_comment import command, workflow_commands
from quaver.core.number_format import short_name, visible_line


def test_a_failed_bound_is_an_error_at_the_study_file() -> None:
    error, *others = commands_in("\n".join(workflow_commands(LOSS, file="prompts/a,b.yaml")))
    assert (error.name, error.properties["file"]) == ("error", "prompts/a,b.yaml")
    assert "accuracy" in error.properties["title"]
    assert "5 points" in error.message
    assert [one.name for one in others] == ["notice", "notice"]


def test_a_loss_without_a_bound_is_a_warning() -> None:
    found = commands_in("\n".join(workflow_commands(comparison(LOSS.differences))))
    assert [one.name for one in found] == ["warning", "notice", "notice"]
    assert "file" not in found[0].properties


def test_github_shows_ten_of_a_kind() -> None:
    rows = [difference(-0.08, -0.02, variant=f"{number}") for number in range(30)]
    found = commands_in("\n".join(workflow_commands(comparison(rows, fail_if="accuracy < 0"))))
    assert [one.name for one in found] == ["error"] * 10


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_breaks_out(text: str) -> None:
    rows = [difference(-0.08, -0.02, variant=text), difference(-0.02, 0.02, variant="x")]
    lines = workflow_commands(comparison(rows, fail_if="accuracy < 0"), file=text)
    (found,) = commands_in("\n".join(lines))
    assert (found.name, set(found.properties) - {"file"}) == ("error", {"title"})
    assert visible_line(short_name(text)) in found.message


@settings(max_examples=60)
@given(st.text(max_size=60), st.text(min_size=1, max_size=60))
def test_any_text_is_read_back_as_it_was(message: str, title: str) -> None:
    (found,) = commands_in(command("error", message, title=title, file="a.yaml"))
    assert found.message == visible_line(message)
    assert found.properties == {"title": visible_line(title), "file": "a.yaml"}
