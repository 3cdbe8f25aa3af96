"""Small studies that the tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quaver.design.calls.experiment import Experiment, resolve
from quaver.design.spec.study_file import read_study

STUDY = """\
task:
  labels: [positive, negative]
items:
  source: items.csv
  id: id
  text: "{{ text }}"
  gold: truth
prompt:
  instruction: Is this positive or negative?
models:
  - {name: fake, use: function}
"""

ITEMS = """\
id,text,truth
a,I like it.,positive
b,I hate it.,negative
c,It is a chair.,
"""


def written(folder: Path, study: str = STUDY, items: str | bytes = ITEMS, name: str = "items.csv") -> Path:
    """Write a study and its items; the study's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(items.encode() if isinstance(items, str) else items)
    path = folder / "study.yaml"
    path.write_text(study, encoding="utf-8")
    return path


def resolved(study: Path | dict[str, Any]) -> Experiment:
    """The experiment of a study file."""
    return resolve(*read_study(study))
