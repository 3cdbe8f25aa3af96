"""What one pass of the real model says of its stability is what sampling it many times shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from quaver.study.session import Study

REPEATS = 20


@pytest.mark.long
def test_sampled_repeats_agree_with_what_one_pass_expects(tmp_path: Path) -> None:
    study = Study.open(
        {
            "seed": 3,
            "task": {"labels": [{"code": "clinton", "name": "A"}, {"code": "dole", "name": "B"}]},
            "items": {
                "source": "anes96",
                "sample": 20,
                "text": "I am {{ age }} years old, {{ party }}, and my views are {{ ideology }}.",
            },
            "prompt": {
                "system": "You are a survey. You answer with one letter.",
                "layout": "Voter: {{ text }}\n{{ question }}\nAnswer:",
                "instruction": "Does this voter choose Bill Clinton or Bob Dole?",
                "postfix": "Answer with one letter, A for Clinton or B for Dole.",
            },
            "models": [{"name": "m", "use": "llamacpp", "model": "smollm2-135m-instruct", "context": 256}],
            # Answers of one token, and nothing cut off: what the closed form takes for granted.
            "decoding": {
                "once": {"temperature": 0, "max_tokens": 1, "constraint": "labels", "logprobs": 200},
                "often": {
                    "temperature": 1,
                    "max_tokens": 1,
                    "constraint": "labels",
                    "repeats": REPEATS,
                },
            },
            "evaluators": ["exact", "logprob"],
        },
        folder=tmp_path,
    )
    study.run()
    (expected,) = [
        one
        for one in study.measure("expected_intra_pss", evaluator="logprob", repeats=REPEATS, temperature=1.0)
        if one.cell["decoding"] == "once"
    ]
    (sampled,) = [
        one for one in study.measure("intra_pss", evaluator="exact") if one.cell["decoding"] == "often"
    ]
    for model in study.source.models.values():
        model.close()
    assert expected.value is not None
    assert sampled.low is not None
    assert sampled.high is not None
    assert sampled.low <= expected.value <= sampled.high
    # An interval that holds everything would show nothing.
    assert sampled.high - sampled.low < 0.5
