"""A study that asks a model for what it cannot do is refused, and told who could."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quaver.core.records import Condition, Decoding, Variant
from quaver.errors import SpecError
from quaver.models.llamacpp import LlamaCpp
from quaver.models.python_function import Function
from quaver.study.sources.model_fit import check_abilities

VARIANT = Variant("original", {}, "", "{{ text }}", "{{ text }}", "Good?", "", {"y": "yes", "n": "no"})


def function() -> Function:
    return Function(annotate=lambda text, prompt: "yes")


def smollm2() -> LlamaCpp:
    return LlamaCpp(model="smollm2-135m-instruct")


@pytest.mark.parametrize(
    ("variant", "problem", "where"),
    [
        (replace(VARIANT, frame="plain"), "cannot go on from a plain text", "prompt.frame"),
        (
            replace(VARIANT, id="frame=plain", factors={"frame": "plain"}, frame="plain"),
            "cannot go on from a plain text",
            "variants: frame=plain",
        ),
        (replace(VARIANT, schema="{}"), "cannot be held to a JSON schema", "prompt.schema"),
    ],
)
def test_a_prompt_that_a_model_cannot_take(variant: Variant, problem: str, where: str) -> None:
    with pytest.raises(SpecError, match=f"'f' {problem}") as caught:
        check_abilities({"f": function()}, {}, [VARIANT, variant])
    assert caught.value.where == where
    assert "use an engine" in str(caught.value.fix)
    assert "llamacpp" in str(caught.value.fix)
    assert "function" not in str(caught.value.fix)
    with pytest.raises(SpecError) as caught:
        check_abilities({"f": function(), "s": smollm2()}, {}, [variant])
    assert str(caught.value.fix).endswith("models, s can")
    check_abilities({"s": smollm2()}, {}, [variant])


def test_a_model_is_held_to_what_it_is_asked() -> None:
    plain = replace(VARIANT, id="frame=plain", factors={"frame": "plain"}, frame="plain")
    models = {"f": function(), "s": smollm2()}
    apart = [Condition("f", "original", "d", 1), Condition("s", "frame=plain", "d", 1)]
    check_abilities(models, {}, [VARIANT, plain], conditions=apart)
    with pytest.raises(SpecError, match=r"'f' .* plain text"):
        check_abilities(models, {}, [VARIANT, plain], conditions=[*apart, Condition("f", plain.id, "d", 1)])


def test_decodings_are_checked_too() -> None:
    with pytest.raises(SpecError, match=r"'f' .* among labels") as caught:
        check_abilities({"f": function()}, {"decoding.d": Decoding("d", constraint="labels")}, [VARIANT])
    assert caught.value.where == "decoding.d"
