"""Where the question stands, who asks it, and with a chat template or without."""

from __future__ import annotations

import pytest
from tests.design.variants.prompts import messages_of, prompt_of, study_of, variants_of

from quaver.design.prompts.templates import names_in
from quaver.design.variants.prompt_frame import asks_first, question_moved
from quaver.errors import SpecError

VOTER = "Voter: {{ text }}\nQuestion: {{ instruction }}\n{{ postfix }}\nAnswer:"


@pytest.mark.parametrize(
    ("layout", "moved"),
    [
        ("{{ text }}\n\n{{ question }}", "{{ question }}\n\n{{ text }}"),
        (VOTER, "Question: {{ instruction }}\n{{ postfix }}\nVoter: {{ text }}\nAnswer:"),
        ("Hi.\n{{ question }}\n---\n{{ text }}\n\nGo:", "Hi.\n{{ text }}\n---\n{{ question }}\n\nGo:"),
        ("{{ text }}", "{{ text }}"),
    ],
)
def test_the_question_moves_and_all_else_stays(layout: str, moved: str) -> None:
    assert question_moved(layout) == moved
    assert question_moved(moved) == layout
    assert names_in(moved) == names_in(layout)


def test_a_layout_without_a_question_asks_nowhere() -> None:
    assert asks_first("{{ text }}") is None


@pytest.mark.parametrize(
    "layout", ["{{ text }}: {{ question }}", "{{ question }}\n{{ text }}\n{{ postfix }}"]
)
def test_a_layout_that_mixes_question_and_text(layout: str) -> None:
    with pytest.raises(SpecError, match="layout") as caught:
        variants_of({"use": "position"}, layout=layout)
    assert caught.value.found == layout


def test_a_layout_without_a_question() -> None:
    with pytest.raises(SpecError, match="no question"):
        variants_of({"use": "position"}, layout="{{ text }}")


def test_the_question_before_and_after() -> None:
    after, before = variants_of({"use": "position"})
    assert (after.id, before.id) == ("position=after", "position=before")
    text = study_of().items[0].fields["text"]
    asked = "Is it liked?\nAnswer with one of: positive, negative."
    assert (prompt_of(after), prompt_of(before)) == (f"{text}\n\n{asked}", f"{asked}\n\n{text}")
    first, second = variants_of({"use": "position"}, layout="{{ question }}\n{{ text }}")
    assert (first.id, second.id) == ("position=before", "position=after")


def test_chat_and_plain() -> None:
    plain_layout = "{{ text }}\n{{ question }}\nAnswer:"
    chat, plain = variants_of({"use": "frame", "layout": plain_layout}, system="Reviews.")
    text = study_of().items[0].fields["text"]
    asked = "Is it liked?\nAnswer with one of: positive, negative."
    assert [message.role for message in messages_of(chat)] == ["system", "user"]
    assert [tuple(message) for message in messages_of(plain)] == [
        ("plain", f"Reviews.\n\n{text}\n{asked}\nAnswer:")
    ]
    first, second = variants_of({"use": "frame"}, frame="plain")
    assert (first.id, first.frame, second.id, second.frame) == ("frame=plain", "plain", "frame=chat", "chat")


def test_examples_stand_first_wherever_the_question_goes() -> None:
    shots = {"use": "shots", "k": 1, "place": "message", "examples": [{"text": "Nice.", "label": "pos"}]}
    for families in ([shots, {"use": "position"}], [{"use": "position"}, shots]):
        for variant in variants_of(*families):
            assert prompt_of(variant).startswith("Nice.\nAnswer: positive\n\n")
