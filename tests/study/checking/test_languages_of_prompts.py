"""A check in another language sends no word of English that its user did not write."""

import json
import re
from collections.abc import Mapping
from itertools import repeat
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
from quaver.study.session import Study

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


def test_a_language_without_words_here_leaves_the_instruction_alone(tmp_path):
    text, asked = (
        "Tämä on teksti, joka ei ole selvä, ja se on kaupungin suunnitelma.",
        "Onko tämä hyvä vai ei ole?",
    )
    found = prompts(tmp_path, text, gold="tone", instruction=asked)
    assert len(found) == 2, "the labels in two orders"
    assert all(not words(one.replace(asked, "")) for one in found)


def test_the_language_is_stated_or_that_of_the_instruction(tmp_path):
    text, *_ = WRITTEN["de"]
    stated = prompts(tmp_path / "a", text, gold="tone", language="en")
    assert words(stated[0]) <= words(words_by_language()["en"])
    asked = prompts(tmp_path / "b", text, gold="tone", instruction="What is the tone of this?")
    assert words(asked[0].replace("What is the tone of this?", "")) <= words(words_by_language()["en"])
    with pytest.raises(UnknownName, match="xx"):
        quaver.check([text], labels=["zx", "zy"], language="xx", to=tmp_path / "c")


SCRIPTS = {
    "own": ("", None),
    "mixed": (" Αυτό 城市 Zürich مدينة #город", None),
    "Latin labels": ("", ("xq", "xw")),
}


def sent(folder, code, script, **options):
    """Whatever a check sends in a language, of which the user's own words are left out; and its study."""
    text, instruction, own = WRITTEN[code]
    more, labels = SCRIPTS[script]
    labels = labels or own
    table = pl.DataFrame(
        {"text": [f"{text}{more} {n}" for n in range(4)], "q1": [*labels] * 2, "q2": [*range(10, 50, 10)]}
    )
    made = [f"{instruction} {n}" for n in range(100, 140)]
    record = json.dumps({"q1": labels[0], "q2": 10}, ensure_ascii=False)

    def answer(body, path, n):
        if not any(one in str(body) for one in table["text"]):
            return chat(body, f"<think>hm</think>{asks(code)} {made[n]}")
        return chat(body, record if "fields" in options else labels[0])

    with rigged(answer) as provider:
        given = {"model": "openai/m", "key_from": "LANGUAGE_API_KEY", "base_url": provider.url, "price": "0"}
        study = prepared_check(table, to=folder, repeats=1, **given, **options).study
        assert study.run().ended == "finished"
    users = sorted([*table["text"], *made, instruction, *labels, "q1", "q2"], key=len, reverse=True)
    left = re.compile("|".join(map(re.escape, users)))
    shown = [[*map(left.sub, repeat(""), texts_of(body))] for _, _, body in provider.sent]
    return shown, study, made


def texts_of(value, key=""):
    """The texts of a request that a model reads, names of properties among them, without the API's own."""
    if isinstance(value, dict):
        yield from value if key == "properties" else ()
        for name, one in value.items():
            yield from texts_of(one, name) if name not in ("role", "type", "model") else ()
    elif isinstance(value, list):
        for one in value:
            yield from texts_of(one, key)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(
    "code", [pytest.param(code, marks=() if code in ("de", "ko") else pytest.mark.long) for code in WRITTEN]
)
@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("form", ["labels", "fields", "paraphrased"])
def test_no_request_has_a_word_of_english(tmp_path, monkeypatch, code, script, form):
    """The requests themselves: schemas, and requests for the instruction in other words, among them."""
    monkeypatch.setenv("LANGUAGE_API_KEY", "sk-language-0123456789abcdef")
    instruction = WRITTEN[code][1]
    options = {
        "labels": {"gold": "q1", "prompts": 4},
        "fields": {"fields": ["q1", "q2"], "prompts": 2},
        "paraphrased": {
            "gold": "q1",
            "prompts": 6,
            "instruction": instruction,
            "paraphrase_with": "openai/m",
        },
    }[form]
    shown, study, made = sent(tmp_path, code, script, **options)
    for one in shown:
        assert words(" ".join(one)) <= words(words_by_language()[code]), one
    if form == "paraphrased":
        assert {one.instruction for one in study.experiment.variants} <= {instruction, *made}
        assert len(study.experiment.variants) == 6
        assert sum(asks(code) in " ".join(one) for one in shown) >= 2


@pytest.mark.parametrize("code", WRITTEN)
def test_evidence_hierarchies_and_options_have_no_word_of_english(tmp_path, code):
    text, instruction, (up, down) = WRITTEN[code]
    tree = [{"code": "f4"}, {"code": up, "parent": "f4"}, {"code": down, "parent": "f4"}]
    fields = {
        "f1": {"labels": tree, "evidence": True},
        "f2": {"labels": [up, down], "several": True},
        "f3": {"level": "interval"},
    }
    for task, layout in (
        ({"fields": fields}, "{{ text }} {{ question }}"),
        ({"labels": [up, down], "options": ["o"]}, "{{ text }} {{ options }} {{ question }}"),
    ):
        document = {
            "task": task,
            "items": {"source": [{"text": text, "o": [up, down]}], "text": "{{ text }}"},
            "prompt": {"instruction": instruction, "language": code, "layout": layout},
            "models": [{"name": "m", "use": "function"}],
            "measures": ["compliance"],
        }
        found = Study.open(document, folder=tmp_path / str(len(task)), functions={"m": str})
        shown = found.experiment
        (variant,), (item,) = shown.variants, shown.items
        said = "\n".join(one.content for one in messages_of(variant, shown.labels, item))
        for own in sorted([text, instruction, up, down, "f1", "f2", "f3", "f4"], key=len, reverse=True):
            said = said.replace(own, "")
        assert words(said) <= words(words_by_language()[code]), said


def asks(code):
    """How a request for an instruction in other words ends."""
    return words_by_language()[code]["reword"].rpartition("\n")[2]
