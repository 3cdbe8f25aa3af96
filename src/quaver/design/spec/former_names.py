"""Names that stored studies have for what is called something else now: they stay readable as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from quaver.core.records import AND_PROMPT
from quaver.core.registry import Kind

_PARAPHRASE, _WORDING = "paraphrase", "wording"


_MEASURES = {
    "wording_stability": "paraphrase_stability",
    "unlike_share": "deviation_share",
    "unlike_held": "deviations_held",
}
_LISTS = {"wordings": "paraphrases"}
_OPTIONS = {**_LISTS, "confidence": "confidence_level"}
_ESTIMANDS = {"random": "population", "fixed": "fixed"}
"""What an interval holds for, by what was drawn anew for it."""
_AND_VARIANT = " and variant"
FORMER: Final[Mapping[Kind, tuple[str, ...]]] = {
    "measures": ("wording_stability",),
    "variants": ("wordings",),
}
"""Names of plug-ins that a study file may still use."""
_FORMER = {now: former for former, now in _MEASURES.items()}


def former_factor(factor: str) -> str:
    """What stored edits may call a factor; also what its draws are seeded by, so that they stay the same."""
    return _WORDING if factor == _PARAPHRASE else factor


def former_measure(measure: str) -> str:
    """What the resamples of a measure are seeded by, so that its intervals stay the same."""
    return _FORMER.get(measure, measure)


def renamed_measure(measure: Any) -> Any:
    """A measure of a study file.

    >>> renamed_measure("wording_stability")
    'paraphrase_stability'
    >>> renamed_measure({"use": "inter_pss", "wordings": "random"})
    {'use': 'inter_pss', 'estimand': 'population'}
    >>> renamed_measure({"use": "accuracy", "confidence": 0.9})
    {'use': 'accuracy', 'confidence_level': 0.9}
    """
    if isinstance(measure, str):
        return _MEASURES.get(measure, measure)
    if not isinstance(measure, Mapping):
        return measure
    named = _renamed(measure, _OPTIONS)
    if named.get("use") == "inter_pss" and named.get("paraphrases") in _ESTIMANDS:
        named["estimand"] = _ESTIMANDS[named.pop("paraphrases")]
    return {**named, "use": renamed_measure(named["use"])} if "use" in named else named


def renamed_family(family: Any) -> Any:
    """A variant family of a study file: ``wordings`` is ``instructions``, in the column that it had.

    >>> renamed_family("wordings")
    {'use': 'instructions', 'factor': 'wording'}
    >>> renamed_family({"use": "wordings", "factor": "style"})
    {'use': 'instructions', 'factor': 'style'}
    """
    given = {"use": family} if isinstance(family, str) else family
    if isinstance(given, Mapping) and given.get("use") == "wordings":
        return {**given, "use": "instructions", "factor": given.get("factor") or _WORDING}
    return family


def renamed_lock(document: Any) -> Any:
    """A lock whose key for paraphrases is that of today.

    >>> renamed_lock({"wordings": {"edits": []}})
    {'paraphrases': {'edits': []}}
    """
    if not isinstance(document, dict):
        return document
    return _renamed(document, _LISTS)


def renamed_model(model: Any) -> Any:
    """A model of a study file: ``setting`` of Quaver's own engines is ``mode``.

    >>> renamed_model({"use": "llamacpp", "setting": "fast"})
    {'use': 'llamacpp', 'mode': 'fast'}
    """
    own = ("llamacpp", "transformers", "openai_compatible")
    if isinstance(model, Mapping) and model.get("use") in own and "mode" not in model:
        return _renamed(model, {"setting": "mode"})
    return model


def renamed_paraphrases(document: Any) -> Any:
    """The document of ``wordings.json`` as ``paraphrases.json`` has it.

    >>> renamed_paraphrases({"drafts": [{"asked": {}, "wordings": []}]})
    {'drafts': [{'asked': {}, 'paraphrases': []}]}
    """
    if not isinstance(document, dict) or not isinstance(document.get("drafts"), list):
        return document
    return {**document, "drafts": [renamed_lock(one) for one in document["drafts"]]}


def renamed_estimates(document: Any) -> Any:
    """The estimates of a bundle, their measures, levels and cells by the names of today.

    >>> renamed_estimates([{"measure": "wording_stability", "confidence": 0.9, "cell": {"wording": "curt"}}])
    [{'measure': 'paraphrase_stability', 'confidence_level': 0.9, 'cell': {'wording': 'curt'}}]
    """
    return [_renamed_estimate(one) for one in document] if isinstance(document, list) else document


def _renamed_estimate(estimate: Any) -> Any:
    if not isinstance(estimate, dict) or not isinstance(estimate.get("cell"), dict):
        return estimate
    fields, cell = _renamed(estimate, _OPTIONS), _renamed(estimate["cell"], _LISTS)
    if str(fields.get("unit")).endswith(_AND_VARIANT):
        unit = fields["unit"].removesuffix(_AND_VARIANT) + AND_PROMPT
        fields = {**fields, "unit": unit, "estimand": "population"}
    return {**fields, "measure": renamed_measure(fields.get("measure")), "cell": cell}


def _renamed(given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A mapping by the names of today; what has a name of today already stays."""
    today = {former: name for former, name in names.items() if name not in given}
    return {today.get(name, name): value for name, value in given.items()}
