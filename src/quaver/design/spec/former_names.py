"""Names that stored studies have for what is called something else now: they stay readable as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["former_factor", "renamed_family", "renamed_lock", "renamed_paraphrases"]

_PARAPHRASE, _WORDING = "paraphrase", "wording"


def former_factor(factor: str) -> str:
    """What stored edits may call a factor."""
    return _WORDING if factor == _PARAPHRASE else factor


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
    return {"paraphrases" if name == "wordings" else name: value for name, value in document.items()}


def renamed_paraphrases(document: Any) -> Any:
    """The document of ``wordings.json`` as ``paraphrases.json`` has it.

    >>> renamed_paraphrases({"drafts": [{"asked": {}, "wordings": []}]})
    {'drafts': [{'asked': {}, 'paraphrases': []}]}
    """
    if not isinstance(document, dict) or not isinstance(document.get("drafts"), list):
        return document
    return {**document, "drafts": [_renamed_draft(one) for one in document["drafts"]]}


def _renamed_draft(draft: Any) -> Any:
    if not isinstance(draft, dict):
        return draft
    return {"paraphrases" if name == "wordings" else name: value for name, value in draft.items()}
