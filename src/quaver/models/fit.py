"""Whether a model can do what a study asks of it, before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from quaver.errors import SpecError
from quaver.models import Abilities, Model
from quaver.records import Decoding, Variant

__all__ = ["check_abilities"]

_PLAIN = Decoding("")

_Test = Callable[[Abilities], bool]


def check_abilities(
    models: Mapping[str, Model], decodings: Mapping[str, Decoding], variants: Iterable[Variant]
) -> None:
    """Refuse a study that asks a model for what it cannot do.

    Args:
        models: The study's models by name.
        decodings: Its decodings by name.
        variants: Its variants.

    Raises:
        SpecError: Names what is asked, and the study's models that could do it.
    """
    needs_system = any(variant.system for variant in variants)
    for name, model in models.items():
        if needs_system and not model.abilities.system:
            _refuse(
                "a system message", "prompt.system", name, [n for n in models if models[n].abilities.system]
            )
        for key, decoding in decodings.items():
            for what, able in _demands(decoding):
                if not able(model.abilities):
                    able_models = [other for other in models if able(models[other].abilities)]
                    _refuse(what, f"decoding.{key}", name, able_models)


def _demands(decoding: Decoding) -> list[tuple[str, _Test]]:
    demands: list[tuple[str, _Test]] = []
    if decoding.logprobs:
        wanted = decoding.logprobs
        demands.append((f"{wanted} log-probabilities", lambda abilities: abilities.logprobs >= wanted))
    if decoding.constraint != "none":
        demands.append(("a choice among labels", lambda abilities: abilities.constraint))
    for setting in ("top_p", "top_k", "min_p", "repeat_penalty", "stop"):
        if getattr(decoding, setting) != getattr(_PLAIN, setting):
            demands.append((setting, _heeds(setting)))
    return demands


def _heeds(setting: str) -> _Test:
    return lambda abilities: setting in abilities.decoding


def _refuse(what: str, where: str, name: str, able: list[str]) -> None:
    raise SpecError(
        f"the model {name!r} cannot give {what}",
        where=where,
        expected="what every model of the study can do",
        fix=f"of this study's models, {', '.join(able)} can" if able else "leave it out",
    )
