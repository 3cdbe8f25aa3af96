"""What a paraphrase has lost: placeholders and labels' names; flagged, never dropped."""

from dataclasses import replace

import pytest

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.factor_levels import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.meaning import lost, with_meaning

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
PROMPT = Variant(
    "",
    {},
    "",
    "{{ text }}\n{{ question }}",
    "{{ text }}",
    "Is {{ item.name }} positive or negative?",
    "",
    {"pos": "positive", "neg": "negative"},
)


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("Say of {{ item.name }}: Positive or negative?", ""),
        ("Is {{ item.name }} positive?", "lost labels: negative"),
        ("Is it positive or negative?", "lost placeholders: {{ item.name }}"),
        ("Is it good?", "lost placeholders: {{ item.name }}; lost labels: positive, negative"),
    ],
)
def test_what_was_lost_is_flagged(text, flag):
    levels = [
        LevelOfFactor(name, lambda variant, said=said: replace(variant, instruction=said))
        for name, said in ((ORIGINAL, PROMPT.instruction), ("w", text))
    ]
    original, reworded = with_meaning(levels, PROMPT, LABELS)
    assert original.covariates == {"original": True, "flagged": False}
    flagged = {"original": False, "flagged": bool(flag)}
    assert reworded.covariates == (flagged | {"flags": flag} if flag else flagged)


@pytest.mark.parametrize(
    ("original", "paraphrase", "names", "gone"),
    [
        ("这段话是正面还是负面？", "这段话的态度是正面的吗？", ["正面", "负面"], ["负面"]),
        ("この文は肯定的か否定的か。", "この文が肯定的か否定的かを答えて。", ["肯定的", "否定的"], []),
        ("이 글은 긍정인지 부정인지?", "이 글이 긍정인지 말하라.", ["긍정", "부정"], ["부정"]),
        ("语气是pos还是neg？", "语气是pos吗？", ["pos", "neg"], ["neg"]),
        ("Это хорошо или плохо?", "Хорошо ли это?", ["хорошо", "плохо"], ["плохо"]),
        ("Is it kind or unkind?", "Is it unkind?", ["kind", "unkind"], ["kind"]),
    ],
)
def test_labels_are_found_in_every_script(original, paraphrase, names, gone):
    assert lost(original, paraphrase, names) == ({"labels": gone} if gone else {})
