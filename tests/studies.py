"""Small studies that the tests share."""

from quaver import Study
from quaver.design.calls.experiment import resolve
from quaver.design.spec.study_file import read_study
from quaver.study.checking.check_design import prepared_check, run_agreed

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


def written(folder, study=STUDY, items=ITEMS, name="items.csv"):
    """Write a study and its items; the study's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(items.encode() if isinstance(items, str) else items)
    path = folder / "study.yaml"
    path.write_text(study, encoding="utf-8")
    return path


def resolved(study):
    """The experiment of a study file."""
    return resolve(*read_study(study))


def changed(change):
    """The study with another line at its end, or with one text in the place of another."""
    if isinstance(change, str):
        return f"{STUDY}{change}\n"
    assert STUDY.count(change[0]) == 1
    return STUDY.replace(*change)


def asked(folder, rows, answer, labels=("positive", "negative"), *, gold="", texts=None, **parts):
    """A study over rows, run; a function answers, or one for each model by its name.

    ``texts`` are other instructions by name, and ``parts`` whatever else the study file has.
    """
    functions = answer if isinstance(answer, dict) else {"m": answer}
    items = {"source": rows, "text": "{{ text }}"} | ({"id": "id"} if "id" in rows[0] else {})
    document = {
        "task": {"labels": [*labels]},
        "items": items | ({"gold": gold} if gold else {}) | parts.pop("items", {}),
        "prompt": {"instruction": "Which is it?"},
        "models": [{"name": name, "use": "function"} for name in functions],
        **({"variants": [{"use": "instructions", "texts": texts}]} if texts else {}),
        **parts,
    }
    study = Study.open(document, folder=folder, functions=functions)
    study.run()
    return study


def checked(data, **options):
    """A check that has asked all; its report, which takes longest, is written where it is looked at."""
    found = prepared_check(data, **options)
    run_agreed(found.study, agreed=True)
    return found
