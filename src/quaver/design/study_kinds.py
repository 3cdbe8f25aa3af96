"""The kinds of study that come ready to run, each with a study file under ``quaver/examples``."""

from __future__ import annotations

from importlib.resources import files

from quaver.errors import UnknownName

KINDS = ("stability", "sensitivity", "audit", "mcq", "factorial")


def study_of_kind(kind: str) -> str:
    """The YAML text of a kind's study file, which also describes a small version.

    Raises:
        UnknownName: There is no such kind.
    """
    if kind not in KINDS:
        raise UnknownName("kind of study", kind, KINDS)
    return (files("quaver") / "examples" / f"{kind}.yaml").read_text(encoding="utf-8")
