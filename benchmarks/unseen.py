"""How often a verdict is right on the second family of studies (`unseen_kinds.py`).

    [PROCESSES=2] [KEPT=FILE] python benchmarks/unseen.py [SEEDS | FROM:TO [KIND …]]

Each study is written to a table, imported as a user imports it, and judged. What is true of its kind is
read off a world of very many texts:

- a verdict is a *false use* where, of what it vouches for, 15% of the labels or more are wrong, or where a
  label is surely wrong in more than 15% of its uses, as many gold labels as the study has of it considered;
- it is a *false do not use* where at most 6% of all labels are wrong, each label is right in nine of ten of
  its uses, seven in ten texts of each class are found, and at most 4% of the answers have no label and 8% of
  pairs of prompts differ;
- a *false clause* excludes a label or a part that is right;
- a *part unnamed* is one that goes wrong in a third of its texts or more, whose name the verdict never says.

Of sets and amounts (`unseen_values.py`) a false "use" vouches for a label that is right in less than 80% of
its uses or listed in less than 60% of its texts, or for amounts whose sum is off by a quarter.

The share of "cannot tell" is shown too; it is never false.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.planted import Said, said
from benchmarks.unseen_kinds import KINDS, Kind, World
from benchmarks.unseen_values import VALUES, Values, faults_of, table_of, worst

from quaver import Study

MANY = 40_000
WRONG, SHARE, ERRORS = 0.15, 0.03, 2.5
"""From where on the labels that are vouched for are bad, and the share from which on one label counts.

A label's precision counts as known to so many standard errors.
"""

GOOD_WRONG, GOOD_PRECISION, GOOD_RECALL, GOOD_MISSING, GOOD_FLIPS = 0.06, 0.9, 0.7, 0.04, 0.08
PART_WRONG = 1 / 3


@dataclass(frozen=True)
class Truth:
    """What is true of some of the texts and prompts of a kind.

    Attributes:
        wrong: The share of the labels given that are wrong.
        precision: By label, the share of its uses that are right.
        share: By label, its share of the labels given.
        recall: By label, the share of its texts' answers that give it.
    """

    wrong: float
    precision: dict[str, float]
    share: dict[str, float]
    recall: dict[str, float]


def truth_of(kind: Kind, world: World, kept: np.ndarray, excluded: Iterable[str] = ()) -> Truth:
    """What is true of the labels that are kept (text × prompt × repeat) and not excluded."""
    truth = np.broadcast_to(world.truth[:, None, None], world.labels.shape)
    given = kept & (world.labels >= 0)
    for label in excluded:
        given = given & (world.labels != kind.names.index(label))
    right = world.labels == truth
    precision, share, recall = {}, {}, {}
    for code, name in enumerate(kind.names):
        uses, texts = given & (world.labels == code), kept & (truth == code)
        share[name] = float(uses.sum() / max(given.sum(), 1))
        precision[name] = float(right[uses].mean()) if uses.any() else float("nan")
        recall[name] = float(right[texts].mean()) if texts.any() else float("nan")
    return Truth(float((~right[given]).mean()) if given.any() else 0.0, precision, share, recall)


@cache
def many(name: str) -> World:
    """Very many texts of a kind."""
    return KINDS[name].draw(np.random.default_rng(40_000), MANY)


@cache
def whole(name: str) -> tuple[Truth, float, float]:
    """What is true of all labels, the share of answers without one, and of pairs of prompts that differ."""
    drawn = many(name)
    labels = drawn.labels[..., 0]
    both = [
        (labels[:, one] != labels[:, two])[(labels[:, one] >= 0) & (labels[:, two] >= 0)].mean()
        for one in range(labels.shape[1])
        for two in range(one)
    ]
    everything = np.ones(drawn.labels.shape, bool)
    flips = float(np.mean(both)) if both else 0.0
    return truth_of(KINDS[name], drawn, everything), float((drawn.labels < 0).mean()), flips


@dataclass(frozen=True)
class Score:
    """Whether one verdict is right; see the module's text for its columns."""

    kind: str
    false_use: str
    false_refusal: str
    clauses: tuple[str, ...]
    unnamed: str
    seed: int
    sentence: str


def scored(name: str, verdict: Said, text: str, seed: int) -> Score:
    """Hold what a verdict says against what is true of its kind."""
    kind = KINDS[name]
    return Score(
        verdict.kind,
        _false_use(name, verdict),
        _false_refusal(name, verdict),
        tuple(_false_clauses(name, verdict)),
        kind.part if _goes_wrong(name) and not _is_named(kind.part, text) else "",
        seed,
        verdict.sentence,
    )


def _vouched(name: str, verdict: Said) -> Truth:
    """What is true of the labels that a verdict vouches for."""
    kind, drawn = KINDS[name], many(name)
    kept = np.ones(drawn.labels.shape, bool)
    for column in drawn.columns.values():
        kept &= ~np.isin(column, list(verdict.groups))[:, None, None]
    for level in verdict.groups:
        kept &= ~_tail(level, drawn)[:, None, None]
    if verdict.kind == "use one prompt only" and verdict.prompt.lstrip("p").isdigit():
        kept &= (np.arange(drawn.labels.shape[1]) == int(verdict.prompt.lstrip("p")))[None, :, None]
    return truth_of(kind, drawn, kept, [label for label in verdict.classes if label in kind.names])


def _false_use(name: str, verdict: Said) -> str:
    if verdict.kind not in ("use", "use except for", "use one prompt only"):
        return ""
    true = _vouched(name, verdict)
    if true.wrong >= WRONG:
        return f"{100 * true.wrong:.0f}% wrong"
    hand = (many(name).gold >= 0).mean() * KINDS[name].texts
    bad = []
    for label, precision in true.precision.items():
        uses = max(hand * true.share[label], 1.0)
        highest = precision + ERRORS * (precision * (1 - precision) / uses) ** 0.5
        if true.share[label] >= SHARE and highest < 1 - WRONG:
            bad.append(f"“{label}” right in {100 * precision:.0f}% of its uses")
    return ", ".join(bad)


def _false_refusal(name: str, verdict: Said) -> str:
    true, missing, flips = whole(name)
    good = true.wrong <= GOOD_WRONG and missing <= GOOD_MISSING and flips <= GOOD_FLIPS
    good &= all(true.share[label] < SHARE or true.precision[label] >= GOOD_PRECISION for label in true.share)
    codes, counts = np.unique(many(name).truth, return_counts=True)
    frequent = [KINDS[name].names[code] for code in codes[counts >= SHARE * MANY]]
    good &= all(true.recall[label] >= GOOD_RECALL for label in frequent)
    return "do not use" if good and verdict.kind == "do not use" else ""


def _false_clauses(name: str, verdict: Said) -> Iterator[str]:
    true, _, _ = whole(name)
    for label in sorted(verdict.classes & set(true.precision)):
        if min(true.precision[label], true.recall[label]) >= GOOD_PRECISION:
            yield f"excludes the label {label}"
    for label in sorted(verdict.classes - set(true.precision)):
        yield f"excludes {label}, which is no label"
    part = KINDS[name].part if _goes_wrong(name) else ""
    for group in sorted(verdict.groups):
        if group != part and not (part in TAILS and group.startswith(TAILS[part])):
            yield f"excludes the part {group}"


def _goes_wrong(name: str) -> bool:
    kind, drawn = KINDS[name], many(name)
    for column in drawn.columns.values():
        level = np.broadcast_to((column == kind.part)[:, None, None], drawn.labels.shape)
        if level.any():
            return truth_of(kind, drawn, level).wrong >= PART_WRONG - 0.01
    return kind.part in ("long", "late")


TAILS = {"long": "with more than", "late": "in the last"}
_PARTS = {"eighth": 1 / 8, "quarter": 1 / 4, "half": 1 / 2}


def _tail(level: str, drawn: World) -> np.ndarray:
    """The texts of a length or a place that are excluded."""
    if words := re.fullmatch(r"with (more|fewer) than ([\d,]+) words", level):
        count = int(words[2].replace(",", ""))
        return drawn.words > count if words[1] == "more" else drawn.words < count
    place = np.arange(MANY) / MANY
    if rows := re.fullmatch(r"in the (last|first) (\w+) of .*", level):
        return place >= 1 - _PARTS[rows[2]] if rows[1] == "last" else place < _PARTS[rows[2]]
    return np.zeros(MANY, bool)


def _is_named(part: str, text: str) -> bool:
    return TAILS.get(part, part) in text


# ----------------------------------------------------------------------------------- opening

_SYLLABLES = np.array([a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or")])


def opened(kind: Kind, drawn: World, folder: Path, rng: np.random.Generator) -> Study:
    """The study as a user imports it from a table."""
    words = _SYLLABLES[rng.integers(0, _SYLLABLES.size, (drawn.truth.size, int(drawn.words.max())))]
    texts = np.array([" ".join(row[:length]) for row, length in zip(words, drawn.words, strict=True)])
    text, prompt, repeat = (index.ravel() for index in np.indices(drawn.labels.shape))
    codes = np.array([*kind.names, ""])
    columns = {"id": text, "text": texts[text], "prompt": np.char.add("p", prompt.astype(str))}
    if drawn.labels.shape[2] > 1:
        columns["repeat"] = repeat
    columns["label"] = codes[drawn.labels.ravel()]
    if (drawn.gold >= 0).any():
        columns["gold"] = codes[drawn.gold[text]]
    columns |= {name: column[text] for name, column in drawn.columns.items()}
    roles: dict[str, object] = {"item": "id", "label": "label", "text": "text", "variant": ["prompt"]}
    roles |= {name: name for name in ("repeat", "gold") if name in columns}
    if drawn.group:
        roles["groups"] = [drawn.group]
    frame = pl.DataFrame(columns)
    frame.write_parquet(folder / "labels.parquet")
    document = {
        "name": "unseen",
        "task": {"labels": list(kind.names), "level": kind.level},
        "annotations": {"source": str(folder / "labels.parquet"), **roles},
    }
    return Study.open(document, folder=folder / "study")


def opened_values(world: Values, folder: Path, rng: np.random.Generator) -> Study:
    """A study of sets or amounts, as a user imports it from a table."""
    columns, field = table_of(world)
    text, prompt = (index.ravel() for index in np.indices(world.given.shape[:2]))
    words = _SYLLABLES[rng.integers(0, _SYLLABLES.size, (len(world.truth), 12))]
    frame = pl.DataFrame(
        {
            "id": text,
            "text": np.array([" ".join(row) for row in words])[text],
            "prompt": np.char.add("p", prompt.astype(str)),
            **columns,
        }
    )
    frame.write_parquet(folder / "labels.parquet")
    document = {
        "name": "unseen",
        "task": {"fields": {"value": field}},
        "annotations": {
            "source": str(folder / "labels.parquet"),
            "item": "id",
            "text": "text",
            "variant": ["prompt"],
            "fields": {"value": "value"},
        },
    }
    return Study.open(document, folder=folder / "study")


def judged(task: tuple[str, int]) -> tuple[str, Score]:
    """Draw a study, open it and score its verdict."""
    name, seed = task
    if name in VALUES:
        rng = np.random.default_rng([seed, crc32(name.encode())])
        world = VALUES[name].draw(rng, VALUES[name].texts)
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            logging.disable(logging.WARNING)
            verdict = next(iter(said(opened_values(world, Path(folder), rng)).values()))
        return name, Score(verdict.kind, *faults_of(name, verdict), "", seed, verdict.sentence)
    kind = KINDS[name]
    logging.disable(logging.WARNING)
    rng = np.random.default_rng([seed, crc32(name.encode())])
    drawn = kind.draw(rng, kind.texts)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        study = opened(kind, drawn, Path(folder), rng)
        verdict, text = next(iter(said(study).values())), str(study.verdict())
    return name, scored(name, verdict, text, seed)


# --------------------------------------------------------------------------------- the table

HEAD = (
    "| study | wrong | least precise | said | false use | false do not use | false clause | part unnamed |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
)


def line(name: str, scores: list[Score]) -> str:
    """A row of the table."""
    if name in VALUES:
        wrong, least = worst(name)
    else:
        true, _, _ = whole(name)
        lowest = min((true.precision[k] for k in true.share if true.share[k] >= SHARE), default=float("nan"))
        wrong, least = f"{100 * true.wrong:.2g}%", f"{100 * lowest:.2g}%"
    counted = Counter(score.kind for score in scores)
    given = ", ".join(f"{kind} {100 * count / len(scores):.3g}%" for kind, count in counted.most_common())
    cells = [name, wrong, least, given]
    for held in ("false_use", "false_refusal", "clauses", "unnamed"):
        cells.append(f"{100 * sum(bool(getattr(score, held)) for score in scores) / len(scores):.3g}%")
    return f"| {' | '.join(cells)} |"


def faults(name: str, scores: list[Score]) -> Iterator[str]:
    """What was judged wrongly, with the first study of each fault."""
    by_fault: dict[str, list[Score]] = defaultdict(list)
    for score in sorted(scores, key=lambda score: score.seed):
        for fault in (score.false_use, score.false_refusal, *score.clauses, score.unnamed):
            if fault:
                by_fault[fault].append(score)
    for fault, wrong in by_fault.items():
        yield f"{name}: {fault}: {len(wrong)} of {len(scores)}, seed {wrong[0].seed}: {wrong[0].sentence}"


def main(seeds: Iterable[int], names: list[str], processes: int, kept: Path) -> None:
    """Print the table, and what was judged wrongly."""
    unknown = set(names) - {*KINDS, *VALUES}
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join([*KINDS, *VALUES])}")
    found: dict[str, list[Score]] = {name: [] for name in names or [*KINDS, *VALUES]}
    tasks = dict.fromkeys((name, seed) for seed in seeds for name in found)
    for row in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ():
        document = json.loads(row)
        name = document.pop("name")
        if (name, document["seed"]) in tasks:
            found[name].append(Score(**document | {"clauses": tuple(document["clauses"])}))
            del tasks[name, document["seed"]]
    with get_context("spawn").Pool(processes) as pool, kept.open("a", encoding="utf-8") as lines:
        for name, score in pool.imap_unordered(judged, tasks, chunksize=2):
            found[name].append(score)
            print(json.dumps({"name": name, **asdict(score)}), file=lines, flush=True)
    print(*HEAD, *(line(name, scores) for name, scores in found.items()), sep="\n")
    print(
        *(fault for name, scores in found.items() for fault in faults(name, scores)),
        sep="\n",
        file=sys.stderr,
    )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    first, _, last = (arguments[0] if arguments else "20").rpartition(":")
    main(
        range(int(first or 0), int(last)),
        arguments[1:],
        int(os.environ.get("PROCESSES", "2")),
        Path(os.environ.get("KEPT", os.devnull)),
    )
