"""The table of languages: how each negates, announces an answer and declines, and is told by its texts."""

import pytest

from quaver.core.calls import Response
from quaver.core.records import Label
from quaver.score.annotation import read
from quaver.score.evaluators.named_label import MarkedLabel
from quaver.score.parsing.languages import language_of, languages, phrases_in
from quaver.testing.tasks import task

CODES = [*languages()]
LABELS = task({"a": "labela", "b": "labelb"}, Label("a", "labela"), Label("b", "labelb"))


def label(text):
    reading = read(Response(text), MarkedLabel(), *LABELS)
    return reading.label or reading.status


@pytest.mark.parametrize("code", CODES)
def test_a_negated_label_is_none(code):
    entry = languages()[code]
    for negation in phrases_in(entry, "not"):
        assert label(f"{negation} labela") == "no_label", negation
        assert label(f"{negation} labela, labelb") == "b", negation
    for negation in phrases_in(entry, "after"):
        assert label(f"labela {negation.strip()}, labelb") == "b", negation


@pytest.mark.parametrize("code", CODES)
def test_an_announced_label_is_the_answer(code):
    entry = languages()[code]
    for noun in phrases_in(entry, "answer"):
        assert label(f"labela? labelb?\n{noun}: labelb") == "b", noun
    for verb in phrases_in(entry, "choose"):
        assert label(f"labela? {verb} labelb") == "b", verb


@pytest.mark.parametrize("code", CODES)
def test_an_answer_that_declines_is_refused(code):
    for phrase in phrases_in(languages()[code], "sorry"):
        assert label(f"{phrase} xyz.") == "refused", phrase


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "The text is about the plan, and it is not clear whether that was for the better."),
        ("de", "Der Text ist nicht zu lang, und es ist die Frage, ob das so mit dem Plan von uns geht."),
        ("fr", "Le texte est dans les mains de la ville, et ce n'est pas une question pour le maire."),
        ("es", "El texto no es claro, y la gente de la ciudad se queja del plan que está en marcha."),
        ("it", "Il testo non è chiaro e la gente della città si lamenta del piano che è in corso."),
        ("pt", "O texto não é claro, e as pessoas da cidade se queixam do plano que está em curso."),
        ("nl", "De tekst is niet duidelijk en het plan van de stad is er niet voor de mensen."),
        ("pl", "Tekst nie jest jasny, a to jest plan, który się nie podoba i na to co do miasta."),
        ("ru", "Это не то, что он хотел, и как по этому плану жить в городе."),
        ("uk", "Це не те, що він хотів, і як за цим планом жити у місті, але його є й до того."),
        ("ja", "これは町の計画についての文章です。"),
        ("ko", "이것은 도시 계획에 관한 글이다."),
        ("zh", "这是一篇关于城市计划的文章。"),
        ("el", "Αυτό είναι ένα κείμενο για το σχέδιο της πόλης."),
        ("hi", "यह शहर की योजना के बारे में है।"),
    ],
)
def test_the_language_of_texts(code, text):
    assert language_of([text]) == code


def test_short_english_texts_about_oneself_are_not_czech():
    assert language_of(["I love my new phone, a gift", "I want a refund, I got a broken one"]) == "en"
