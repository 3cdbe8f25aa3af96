"""A checked prompt as a function: it labels new texts as its study did."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from quaver import Study
from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.study.analysis.labeller import Labeller
from quaver.study.analysis.study_acceptance import accept

CALLS: list[str] = []


def annotate(text: str, prompt: str) -> str:
    """Reads words; of texts with a question mark, one prompt of four reads another label."""
    CALLS.append(text)
    label = "yes" if "good" in text else "no"
    if "?" in text and "surely" in prompt:
        return "yes" if label == "no" else "no"
    if "??" in text and "please" in prompt:
        return "silence"
    return label


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    monkeypatch.chdir(tmp_path)
    draw = random.Random(3)
    rows = []
    for n in range(400):
        good, odd = draw.random() < 0.5, draw.choice(["", "", "", "", "", "", "", "", "?", "??"])
        rows.append(
            {"id": str(n), "post": f"{'good' if good else 'poor'} {n}{odd}", "true": "yes" if good else "no"}
        )
    found = Study.open(
        {
            "name": "posts",
            "task": {"labels": ["yes", "no"]},
            "items": {"source": rows, "id": "id", "text": "{{ post }}", "gold": "true"},
            "prompt": {"instruction": "Is it good?"},
            "variants": [{"use": "instructions", "texts": {"b": "please", "c": "surely", "d": "now"}}],
            "models": [{"name": "m", "use": "function"}],
        },
        functions={"m": annotate},
    )
    found.run()
    CALLS.clear()
    return found


@pytest.fixture
def labeller(study: Study) -> Iterator[Labeller]:
    with study.labeller() as made:
        yield made


def test_new_texts_are_labelled_as_the_studys_were(study: Study, labeller: Labeller) -> None:
    texts = [str(item.fields["post"]) for item in study.experiment.items[:50]]
    found, known = labeller(texts), study.labels().head(50)
    assert [one.label for one in found] == known["model_label"].to_list()
    assert [one.agreement for one in found] == known["agreement"].to_list()
    assert [one.accepted for one in found] == [agreement >= 0.75 for agreement in known["agreement"]]
    assert len(CALLS) == 200


def test_without_a_promise_three_quarters_must_agree(labeller: Labeller) -> None:
    sure, split, torn = labeller(["good", "good?", "good??"])
    assert (sure.label, sure.agreement, sure.accepted) == ("yes", 1.0, True)
    assert (split.agreement, split.accepted) == (0.75, True)
    assert (torn.agreement, torn.accepted) == (0.5, False)
    assert labeller.promise is None


def test_the_studys_rule_of_acceptance_holds_for_new_texts(study: Study) -> None:
    study.gold.draw(n=200, design="simple")
    study.gold.take_known()
    accepted = accept(study.source, error=0.05, learned=False).table
    least = accepted.filter(accepted["decision"] == "accept")["agreement"].min()
    with study.labeller() as labeller:
        assert (labeller.promise, labeller.least) == (0.05, least)
        assert labeller(["good"])[0].accepted
    first = study.experiment.variants[0].id
    with study.labeller(variants=[first]) as labeller:
        assert labeller.promise is None, "the rule is about the agreement of all prompts"


def test_many_callers_may_ask_at_once(study: Study, labeller: Labeller) -> None:
    texts = [f"{'good' if n % 2 else 'poor'} {n}" for n in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: labeller([text])[0].label, texts))
    assert found == ["yes" if n % 2 else "no" for n in range(40)]

    async def together() -> list[Any]:
        return await asyncio.gather(*(labeller.label([text]) for text in texts))

    assert [one[0].label for one in asyncio.run(together())] == found


def test_rows_with_the_columns_of_the_text_will_do(labeller: Labeller) -> None:
    assert labeller([{"post": "good", "other": 1}])[0].label == "yes"
    assert labeller([]) == []
    for wrong in ("", "  ", None, 3, {"other": "x"}):
        with pytest.raises(ItemError) as error:
            labeller(["fine", wrong])  # type: ignore[list-item]
        assert error.value.where == "texts[1]"


def test_an_error_of_the_model_reaches_the_caller_and_the_next_text_is_answered(study: Study) -> None:
    with study.labeller() as labeller:
        labeller(["good"])
        model = study.source.models["m"]  # type: ignore[attr-defined]
        model.answer, whole = _failing, model.answer
        with pytest.raises(QuaverError, match="gone"):
            labeller(["good"])
        model.answer = whole
        assert labeller(["good"])[0].label == "yes"
    with pytest.raises(QuaverError, match="closed"):
        labeller(["good"])


def _failing(requests: Any) -> Any:
    raise QuaverError("gone")


def test_a_prompt_that_is_not_there_is_an_error(study: Study) -> None:
    with pytest.raises(UnknownName):
        study.labeller(variants=["nothing"])
