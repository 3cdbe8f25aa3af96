"""A check in another language sends no word of English that its user did not write."""

import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from ruamel.yaml import YAML
from tests.models.provider_rig import chat, rigged

import quaver
from quaver.design.prompt_words import WORDLESS, words_by_language
from quaver.design.prompts.rendering import messages_of
from quaver.errors import UnknownName
from quaver.study.checking.check_design import prepared_check

WRITTEN = YAML(typ="safe").load(Path(__file__).parents[2] / "data" / "languages.yaml")
"""A text and an instruction in each language that Quaver has words in, but English."""


def words(value):
    """The words of two letters or more in a table of prompt words, in lower case."""
    parts = value.values() if isinstance(value, Mapping) else ()
    found = re.findall(r"[^\W\d_]{2,}", value.lower()) if isinstance(value, str) else []
    return {*found}.union(*map(words, parts))


def prompts(folder, text, **options):
    """The different prompts of a check of six texts, without the texts and the labels."""
    labels = {"tone": [*("zx", "zy") * 3], "amount": [*range(10, 70, 10)]}
    table = pl.DataFrame({"text": [f"{text} {n}" for n in range(6)], **labels})
    study = prepared_check(table, to=folder, model=lambda text, prompt: "zx", **options).study
    item = study.experiment.items[0]
    shown = [messages_of(variant, study.experiment.labels, item) for variant in study.experiment.variants]
    said = ["\n".join(one.content for one in messages).replace(item.fields["text"], "") for messages in shown]
    return [re.sub(r"\b(?:zx|zy|tone|amount|json)\b", "", one, flags=re.IGNORECASE) for one in said]


def test_every_language_is_tried():
    assert {*WRITTEN, "en", WORDLESS} == {*words_by_language()}


@pytest.mark.parametrize("code", WRITTEN)
@pytest.mark.parametrize("own", [False, True], ids=["plain", "own"])
@pytest.mark.parametrize("more", [{"gold": "tone"}, {"fields": ["tone", "amount"]}], ids=["label", "fields"])
def test_no_word_is_english(tmp_path, code, own, more):
    text, instruction = WRITTEN[code]
    found = prompts(tmp_path, text, **more, **({"instruction": instruction} if own else {}))
    assert len(found) == 10 if "gold" in more else len({*found}) == 5
    english = words(words_by_language()["en"]) - words(words_by_language()[code])
    for one in found:
        rest = one.replace(instruction, "")
        assert not words(rest) & english
        assert words(rest) <= words(words_by_language()[code])


def test_a_language_without_words_here_leaves_the_instruction_alone(tmp_path):
    text, asked = (
        "Tämä on teksti, joka ei ole selvä, ja se on kaupungin suunnitelma.",
        "Onko tämä hyvä vai ei ole?",
    )
    found = prompts(tmp_path, text, gold="tone", instruction=asked)
    assert len(found) == 2, "the labels in two orders"
    assert all(not words(one.replace(asked, "")) for one in found)


def test_the_language_is_stated_or_that_of_the_instruction(tmp_path):
    text, _ = WRITTEN["de"]
    stated = prompts(tmp_path / "a", text, gold="tone", language="en")
    assert words(stated[0]) <= words(words_by_language()["en"])
    asked = prompts(tmp_path / "b", text, gold="tone", instruction="What is the tone of this?")
    assert words(asked[0].replace("What is the tone of this?", "")) <= words(words_by_language()["en"])
    with pytest.raises(UnknownName, match="xx"):
        quaver.check([text], labels=["zx", "zy"], language="xx", to=tmp_path / "c")


@pytest.mark.parametrize("code", WRITTEN)
def test_no_request_has_a_word_of_english(tmp_path, code):
    """The requests themselves, those for the instruction in other words among them."""
    text, instruction = WRITTEN[code]
    texts = [f"{text} {n}" for n in range(4)]
    made = [f"{instruction} {n}" for n in range(100, 140)]

    def answer(body, path, n):
        is_label = any(one in str(body) for one in texts)
        return chat(body, "zx" if is_label else f"<think>hm</think>{asks(code)} {made[n]}")

    with rigged(answer) as provider:
        options = {"model": "m", "base_url": provider.url, "price": "0", "labels": ["zx", "zy"], "prompts": 6}
        options |= {"instruction": instruction, "paraphrase_with": "m", "repeats": 1}
        study = prepared_check(pl.DataFrame({"text": texts}), to=tmp_path, **options).study
        study.run()
    assert {one.instruction for one in study.experiment.variants} <= {instruction, *made}
    assert len(study.experiment.variants) == 6
    english = words(words_by_language()["en"]) - words(words_by_language()[code])
    for _, _, body in provider.sent:
        said = "\n".join(one["content"] for one in body["messages"])
        for own in (*texts, *made, instruction):
            said = said.replace(own, "")
        said = re.sub(r"\bz[xy]\b", "", said)
        assert not words(said) & english
        assert words(said) <= words(words_by_language()[code]), said
    assert sum("{}" not in str(body) and asks(code) in str(body) for _, _, body in provider.sent) >= 2


def asks(code):
    """How a request for an instruction in other words ends."""
    return words_by_language()[code]["reword"].rpartition("\n")[2]
