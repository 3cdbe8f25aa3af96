"""What comes ready to run: the kinds of study and the papers, each with a file under ``quaver/examples``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from quaver.errors import UnknownName

KINDS = ("stability", "sensitivity", "audit", "mcq", "factorial", "judge", "codebook")

PAPERS: Final[Mapping[str, str]] = {
    "barrie-2025": "Prompt stability scores: Barrie, Palaiologou & Törnberg, arXiv:2407.02039",
    "errica-2025": "Sensitivity and consistency: Errica, Siracusano, Sanvito & Bifulco, NAACL 2025, "
    "arXiv:2406.12334",
    "karmakar-2026": "A reliability audit of small models: Karmakar & Chatterjee, arXiv:2605.02038",
    "choices-and-temperature": "Six treatments of multiple-choice questions (Cosmos QA), three temperatures",
    "atreja-2025": "What the parts of a prompt do: Atreja, Ashkinaze, Li, Mendelsohn & Hemphill, ICWSM 2025, "
    "doi:10.1609/icwsm.v19i1.35807",
}
"""The papers that have a recipe, by author and year or by subject: what they are about and where they are."""


def study_of_kind(kind: str) -> str:
    """The YAML text of a kind of study or of a paper, which also describes a small version."""
    if kind not in KINDS and kind not in PAPERS:
        raise UnknownName("kind of study", kind, [*KINDS, *PAPERS])
    return (files("quaver") / "examples" / f"{kind}.yaml").read_text(encoding="utf-8")


def listed() -> list[tuple[str, str]]:
    """Every kind and every paper, with what it is about: of a kind, the first line of its file."""
    about = [(kind, study_of_kind(kind).partition("\n")[0].removeprefix("# ")) for kind in KINDS]
    return [*about, *PAPERS.items()]
