"""llama.cpp in process and through its HTTP server: the same weights give the same labels."""

import pytest
from tests.local_engines import NAME, base_url

from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import resolve
from quaver.design.spec.study_file import read_study
from quaver.models.llamacpp import LlamaCpp
from quaver.models.openai_compatible import OpenAICompatible
from quaver.score.evaluators.stated_confidence import label_masses
from quaver.testing.requests import ask

pytest.importorskip("statsmodels")

STUDY = {
    "task": {"labels": ["Clinton", "Dole"]},
    "items": {
        "source": "anes96",
        "sample": 12,
        "text": "I am {{ age }} years old, {{ party }}, {{ ideology }}.",
    },
    "prompt": {
        "system": "You answer with one word.",
        "instruction": "Does this voter choose Bill Clinton or Bob Dole?",
        "postfix": "Answer with one word, Clinton or Dole.",
    },
    "decoding": {"greedy": {"max_tokens": 4, "logprobs": 50}},
    "models": [{"name": "m", "use": "function"}],
}
LABELS = {"Clinton": ("clinton",), "Dole": ("dole",)}


@pytest.mark.long
def test_greedy_answers_and_label_probabilities_agree():
    asked = list(Plan(resolve(*read_study(STUDY)), {"m": ""}).requests("m"))
    inside = LlamaCpp(model=NAME, context=256)
    here = [responses[0] for responses in ask(inside, *asked)]
    inside.close()
    outside = OpenAICompatible(model=NAME, preset="llamacpp_server", base_url=base_url())
    there = [responses[0] for responses in ask(outside, *asked)]
    assert sum(one.text == other.text for one, other in zip(here, there, strict=True)) >= 11
    for one, other in zip(here, there, strict=True):
        masses, others = (label_masses(response.tokens[0], LABELS)[0] for response in (one, other))
        for code, mass in masses.items():
            assert mass == pytest.approx(others[code], abs=0.02)
