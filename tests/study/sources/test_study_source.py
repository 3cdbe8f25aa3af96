"""The contract of every source: what it can do works and agrees, and what it cannot do is one error."""

import inspect

import pytest
from ruamel.yaml import YAML

import quaver
from quaver.core.annotations import ANNOTATION_COLUMNS
from quaver.errors import StoreError
from quaver.study.session import Study
from quaver.study.sources.study_source import StudySource

LABELS = ("negative", "positive")
ABILITIES = ("can_ask", "has_answers", "has_texts", "owns_folder")
ORIGINALS = ("file", "labels", "answers")
KINDS = [f"{one}{packed}" for one in ORIGINALS for packed in ("", " bundle", " bundle without texts")]

CAN = {
    "file": {"can_ask", "has_answers", "has_texts", "owns_folder"},
    "labels": {"has_texts", "owns_folder"},
    "answers": {"has_answers", "has_texts", "owns_folder"},
}
"""What each kind can do; its bundle loses the models and the folder, and without texts those, too."""


NEEDS = {
    "plan": (lambda study, _: study.plan(), ("can_ask",)),
    "a pilot": (lambda study, _: study.plan(pilot=1), ("can_ask",)),
    "run": (lambda study, _: study.run(), ("can_ask",)),
    "make paraphrases": (lambda study, _: study.variants.make(), ("can_ask",)),
    "show variants": (lambda study, _: list(study.variants), ("has_texts",)),
    "rescore": (lambda study, _: study.rescore(), ("has_answers",)),
    "another evaluator": (lambda study, _: _as_before(study, study.rescore(["exact"])), ("has_answers",)),
    "export": (lambda study, to: study.export(to / "calls.csv"), ("has_answers",)),
    "bundle": (lambda study, to: _bundled(study, to), ("owns_folder",)),
}
"""What some sources cannot do, and what it needs."""

AGREES = {
    "status": lambda study, _: study.status(),
    "annotations": lambda study, _: study.annotations().drop("reason").rows(),
    "estimates": lambda study, _: list(study.estimates()),
    "audit": lambda study, _: list(study.estimates(of="audit")),
    "charts' estimates": lambda study, _: list(study.estimates(of="charts")),
    "one measure": lambda study, _: list(study.measure("label_shares")),
    "quality": lambda study, _: study.quality(),
    "the items": lambda study, _: [(one.id, one.gold) for one in study.experiment.items],
    "the variants": lambda study, _: [one.id for one in study.experiment.variants],
    "calls in the lock": lambda study, _: study.source.lock().get("calls"),
    "calls": lambda study, _: study.source.calls,
    "prices": lambda study, _: dict(study.source.prices),
}
"""What every source can do, and a bundle says as the study that it is of; charts are drawn of this."""


def _bundled(study, to):
    """A bundle, unless the studies below have shown that one can be made."""
    return study.source.owns_folder or quaver.bundle(study, to / "again.zip")


def _as_before(study, found):
    study.rescore()
    return found


def answer(text, prompt):
    """A model: right about most, and swayed by the prompt."""
    return "positive" if int(text.split()[1]) % 3 or "Is" not in prompt else "negative"


def _asked(home):
    home.mkdir()
    rows = [f"i{n},text {n},{'positive' if n % 3 else 'negative'},{'ab'[n % 2]}" for n in range(6)]
    (home / "items.csv").write_text("\n".join(["id,text,truth,party", *rows]), encoding="utf-8")
    given = {
        "name": "asked",
        "task": {"labels": ["positive", "negative"]},
        "items": {
            "source": "items.csv",
            "id": "id",
            "text": "{{ text }}",
            "gold": "truth",
            "groups": ["party"],
        },
        "prompt": {"instruction": "Is this positive or negative?"},
        "variants": [{"use": "instructions", "texts": {"short": "Positive or negative?"}}],
        "models": [{"name": "one", "use": "function"}],
        "evaluators": ["first_label", "exact"],
        "measures": ["accuracy", "inter_pss"],
    }
    YAML().dump(given, home / "study.yaml")
    study = Study.open(home, functions={"one": answer})
    study.run()
    return study


def _imported(home, column):
    """A table with a gap: item 2 was not labelled under the second prompt."""
    rows = [
        f"{item},m{model},p{prompt},{LABELS[(item + model * prompt) % 2]},positive,text {item}"
        for item in range(3)
        for model in range(2)
        for prompt in range(2)
        if not (item == 2 and prompt == 1)
    ]
    path = home / f"{column}.csv"
    path.write_text("\n".join([f"id,model,variant,{column},gold,text", *rows]) + "\n", encoding="utf-8")
    roles = {"raw": "answer"} if column == "answer" else {}
    return quaver.import_annotations(path, home / f"{column}s", **roles, labels=LABELS)[0]


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    home = tmp_path_factory.mktemp("sources")
    found = {
        "file": _asked(home / "asked"),
        "labels": _imported(home, "label"),
        "answers": _imported(home, "answer"),
    }
    for name in ORIGINALS:
        for texts, packed in ((True, "bundle"), (False, "bundle without texts")):
            path, _ = quaver.bundle(found[name], home / f"{name}-{texts}.zip", texts=texts)
            found[f"{name} {packed}"] = Study.open(path)
    return found


@pytest.fixture(scope="module")
def said():
    """What a study said, by its kind and what it was asked."""
    return {}


def can(kind):
    own, _, packed = kind.partition(" ")
    lost = {"can_ask", "owns_folder"} if packed else set()
    return CAN[own] - lost - ({"has_texts"} if "without" in packed else set())


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_says_what_it_can_and_counts_what_it_stores(studies, kind):
    study = studies[kind]
    assert {one for one in ABILITIES if getattr(study.source, one)} == can(kind)
    assert study.source.kind
    frame = study.annotations()
    assert set(ANNOTATION_COLUMNS) <= set(frame.columns)
    now = study.status()
    assert now.answered == now.total == study.source.calls
    if not study.source.has_answers:
        assert now.total == frame.height
        return
    with study.source.answers() as store:
        assert store.calls.answered() == now.answered


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in KINDS if kind not in ORIGINALS for name in AGREES],
)
def test_a_bundle_says_what_its_study_says(studies, said, kind, name, tmp_path):
    own = kind.partition(" ")[0]
    if (own, name) not in said:
        said[own, name] = AGREES[name](studies[own], tmp_path)
    assert AGREES[name](studies[kind], tmp_path) == said[own, name]


@pytest.mark.parametrize("name", NEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_source_cannot_is_one_error(studies, kind, name, tmp_path):
    study, (operation, needs) = studies[kind], NEEDS[name]
    lacking = [one for one in needs if one not in can(kind)]
    if not lacking:
        assert operation(study, tmp_path) is not None
        return
    with pytest.raises(StoreError) as caught:
        operation(study, tmp_path)
    error, expected = caught.value, study.source.cannot(lacking[0])
    assert str(error) == str(expected)
    assert error.where == study.source.where
    assert error.found == study.source.kind
    assert error.expected
    assert error.fix
    assert not list(tmp_path.iterdir())


def test_no_source_is_half_made(studies):
    """Every concrete source has all of the protocol, and nobody makes a study of another class."""
    kinds = [one for one in _below(StudySource) if not inspect.isabstract(one)]
    assert {one.__name__ for one in kinds} == {"StudyFile", "Labels", "Answers", "Bundle", "FieldSource"}
    assert not Study.__subclasses__()
    assert {type(study) for study in studies.values()} == {Study}


def _below(one):
    return [found for below in one.__subclasses__() for found in (below, *_below(below))]
