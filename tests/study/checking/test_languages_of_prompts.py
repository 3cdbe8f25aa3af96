"""A check in another language sends no word of English that its user did not write."""

import re
from collections.abc import Mapping

import polars as pl
import pytest
from tests.models.provider_rig import chat, rigged

import quaver
from quaver.design.prompt_words import WORDLESS, words_by_language
from quaver.design.prompts.rendering import messages_of
from quaver.errors import UnknownName
from quaver.study.checking.check_design import prepared_check

WRITTEN = {
    "de": (
        "Der Text ist nicht zu lang, und es ist die Frage, ob das so geht.",
        "Was ist die Haltung zu dem Plan?",
    ),
    "fr": (
        "Le texte est dans les mains de la ville, et ce n'est pas une question.",
        "Quel est le ton de ce texte ?",
    ),
    "es": (
        "El texto no es claro, y la gente de la ciudad se queja del plan.",
        "¿Cuál es el tono de este texto?",
    ),
    "it": (
        "Il testo non è chiaro e la gente della città si lamenta del piano.",
        "Qual è il tono del testo che leggi?",
    ),
    "pt": (
        "O texto não é claro, e as pessoas da cidade se queixam do plano.",
        "Qual é o tom do texto que não é meu?",
    ),
    "nl": ("De tekst is niet duidelijk en het plan van de stad is er niet.", "Wat is de toon van het stuk?"),
    "sv": (
        "Texten är inte klar, och det är en plan som inte finns för oss.",
        "Är det här för eller mot, och hur är det?",
    ),
    "da": (
        "Teksten er ikke klar, og planen blev lavet af byen, der ikke har spurgt os.",
        "Hvad er tonen i det, der blev sagt af byen?",
    ),
    "no": (
        "Teksten er ikke klar, og planen ble laget av byen for å spare penger.",
        "Hva er tonen i det som ble sagt av byen?",
    ),
    "pl": (
        "Tekst nie jest jasny, a to jest plan, który się nie podoba.",
        "Czy to jest za, czy nie, i co się tu mówi?",
    ),
    "cs": (
        "Text není jasný a je to plán, který se nelíbí, ale je to tak.",
        "Je to pro, nebo proti, a co se tu říká?",
    ),
    "ru": ("Это не то, что он хотел, и как по этому плану жить в городе.", "Каков тон этого текста?"),
    "uk": (
        "Це не те, що він хотів, і як за цим планом жити у місті.",
        "Який тон цього тексту, що є у місті?",
    ),
    "tr": (
        "Bu metin açık değil ve bu plan bizim için bir şey değil.",
        "Bu metin için ne denir ve bu bir plan mı?",
    ),
    "el": ("Αυτό είναι ένα κείμενο για το σχέδιο της πόλης.", "Ποιος είναι ο τόνος;"),
    "ar": ("هذا النص ليس واضحا وهو عن خطة المدينة التي لا تعجبنا.", "ما هو الموقف في هذا النص؟"),
    "zh": ("这是一篇关于城市计划的文章。", "语气如何？"),
    "ja": ("これは町の計画についての文章です。", "語調はどうですか。"),
    "ko": ("이것은 도시 계획에 관한 글이다.", "어조는 어떻습니까?"),
}
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
