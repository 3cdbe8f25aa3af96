"""The grid and the filters name prompts by their words, as the first screen does."""

import pytest
from tests.view.viewed import STUDY, client, collected

ORDERS = STUDY.replace("models:", "  - {use: label_order, orders: reversed}\nmodels:")
ONE = STUDY.partition("variants:")[0] + "models:" + STUDY.partition("models:")[2]


def design_of(folder, study):
    return client(collected(folder, study, 6).parent).get("api/studies/tones/design").json()


@pytest.fixture(scope="module")
def crossed(tmp_path_factory):
    return design_of(tmp_path_factory.mktemp("crossed"), ORDERS)


def test_a_prompt_is_called_by_the_beginning_of_its_instruction(crossed):
    names = [prompt["short"] for prompt in crossed["prompts"]]
    assert "Is this positive, negative or neutral?" in names
    assert "Tone?, label order: reversed" in names
    assert len(set(names)) == len(names) == 6
    assert not any("original" in name for name in names)


def test_levels_that_the_words_show_are_called_by_them(crossed):
    words = {
        "original": "Is this positive, negative or neutral?",
        "curt": "Tone?",
        "plain": "How does it sound?",
    }
    assert crossed["levels"] == {"words": words}


def test_the_only_prompt_is_called_by_its_words(tmp_path):
    (prompt,) = design_of(tmp_path, ONE)["prompts"]
    assert prompt["short"] == "Is this positive, negative or neutral?"
