"""How often a verdict is right: studies whose truth is known, drawn again and again.

    [PROCESSES=2] [KEPT=FILE] python benchmarks/planted.py [SEEDS | FROM:TO [KIND …]]

Each kind of study is planted (`planted_study.py`), opened as a user opens it and judged. What would be right
to say (`planted_kinds.py`) follows from no rule of the verdict. Planted as good are at most 8% wrong labels
and 5% of pairs of prompts that differ (on a scale, by a step); planted as bad is at least a fifth, or most of
a class or a group. A label that may not be excluded is right in nine of ten of its uses.

A verdict is a false "use" where it vouches for labels that are bad: all of them, a prompt, a class, a group,
or those of texts that never got one, unless it says so. It is a false "do not use" where it refuses labels
that are good. A clause is false where it names a class or a group that is good, missing labels where there
are none, or as the first reason something that was not planted. The intervals that it quotes should cover
what is true of the same kind with very many texts.

The table is in docs/verdicts.md; beneath it, the first studies of each kind that were judged wrongly. Every
kind is judged with one seed before any is with the next, and each score is a line of the file ``KEPT``: the
same command goes on from there.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

if __package__ in (None, ""):  # run as a script
    sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.planted_kinds import KINDS, Kind
from benchmarks.planted_study import Planted, planted, true_values

from quaver import Study

MILDEST = ("use", "use except for", "use one prompt only", "do not use")
"""The verdicts, from the one that vouches for most; "cannot tell" is never false."""

# ----------------------------------------------------------------------- what a verdict says


@dataclass(frozen=True)
class Said:
    """What a verdict says of one model and field.

    Attributes:
        kind: One of `MILDEST`, or ``cannot tell``.
        cause: What it names as the first reason, in the words of `Kind.causes`; empty where it names none.
        prompt: The one prompt that it allows.
        classes: The labels that it excludes.
        groups: The groups that it excludes.
        missing: Whether it says that texts have no label.
        alike: What it says that most of these have in common, as `Kind.alike`.
        quoted: Intervals by quantity of `true_values`.
        elsewhere: Whether these are of the texts outside the excluded groups.
        sentence: Its first line.
    """

    kind: str
    cause: str = ""
    prompt: str = ""
    classes: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    missing: bool = False
    alike: str = ""
    quoted: tuple[tuple[str, float, float], ...] = ()
    elsewhere: bool = False
    sentence: str = ""


_QUANTITIES = {
    "wrong_labels": "off gold",
    "flips_prompts": "prompts",
    "flips_repeats": "repeats",
    "unlabelled_answers": "missing",
}
_CAUSES = {
    "one label": "constant",
    "wrong": "gold",
    "biased": "gold",
    "unsteady": "prompts",
    "moved by order": "prompts",
    "moved by format": "prompts",
    "odd prompts": "prompts",
    "best prompt": "prompts",
    "repetition": "repeats",
    "unreadable": "missing",
    "cut off": "missing",
    "empty field": "missing",
}


def said(study: Study) -> dict[str, Said]:
    """What the verdict on a study says, by field or else by model: the only place that knows its record."""
    card = study.verdict()
    found = {}
    for one in card.recommendations:
        quoted = [
            (_QUANTITIES[estimate.measure], estimate.low, estimate.high)
            for estimate in one.evidence
            if estimate.measure in _QUANTITIES and estimate.low is not None and estimate.high is not None
        ]
        bare = [estimate for estimate in one.unvouched if estimate.measure == "unlabelled_texts"]
        alike = [_trait(str(estimate.details.get("trait", ""))) for estimate in bare]
        found[one.field or one.model] = Said(
            kind=one.kind,
            cause=_CAUSES.get(one.reason, one.reason),
            prompt=one.prompt.rpartition("=")[2],
            classes=frozenset(one.classes),
            groups=frozenset(part.cell["level"] for part in one.exceptions if "level" in part.cell),
            missing=bool(bare) or any(quantity == "missing" for quantity, _, _ in quoted),
            alike="".join(alike),
            quoted=tuple(quoted),
            elsewhere=one.elsewhere,
            sentence=card.lines[0],
        )
    return found


def _trait(words: str) -> str:
    """What texts have in common, as `Kind.alike` names it: ``longer``, ``shorter`` or a group."""
    lengths = {"with more than": "longer", "with fewer than": "shorter"}
    named = next((name for start, name in lengths.items() if words.startswith(start)), "")
    return named or words.partition("“")[2].rstrip("”")


# ----------------------------------------------------------------------------------- scoring


@dataclass(frozen=True)
class Score:
    """Whether one verdict is right.

    Attributes:
        kind: What it says.
        false_use: Why it vouches for what is bad; empty if it does not.
        false_refusal: Why it refuses what is good.
        clauses: What else it says that is false.
        quoted: How many intervals it quotes.
        missed: Which of them do not cover what is true.
        seed: The study's.
        sentence: Its first line.
    """

    kind: str
    false_use: str
    false_refusal: str
    clauses: tuple[str, ...]
    quoted: int
    missed: tuple[str, ...]
    seed: int
    sentence: str


def scored(kind: Kind, study: Planted, verdict: Said, seed: int) -> Score:
    """Hold what a verdict says against what was planted."""
    missed = []
    # the second of two fields is another than what was planted
    plan = kind.plan
    if verdict.elsewhere and plan.groups is not None:
        plan = replace(plan, groups=replace(plan.groups, bad=(), misread=0.0))
    true = true_values(plan) if kind.of in ("", "m", *kind.fields[:1]) else {}
    # one prompt's figures are not those of all prompts
    quoted = () if verdict.kind == "use one prompt only" or not true else verdict.quoted
    for quantity, low, high in quoted:
        if not low - 1e-9 <= true[quantity] <= high + 1e-9:
            missed.append(f"{quantity} [{low:.3f} to {high:.3f}], true {true[quantity]:.3f}")
    return Score(
        kind=verdict.kind,
        false_use=_false_use(kind, study, verdict),
        false_refusal=_false_refusal(kind, verdict),
        clauses=tuple(_false_clauses(kind, study, verdict)),
        quoted=len(quoted),
        missed=tuple(missed),
        seed=seed,
        sentence=verdict.sentence,
    )


def _false_use(kind: Kind, study: Planted, verdict: Said) -> str:
    if verdict.kind in ("cannot tell", "do not use"):
        return ""
    if verdict.kind not in (*kind.right, *kind.allowed):
        return "" if _refuses(kind, verdict) else verdict.kind
    if verdict.kind == "use one prompt only" and verdict.prompt not in kind.good_prompts:
        return f"use prompt {verdict.prompt}"
    if verdict.kind == "use except for":
        kept = [*(kind.bad_classes - verdict.classes), *(_bad_groups(kind, study) - verdict.groups)]
        if kept:
            return f"use {', '.join(sorted(kept))}"
    if kind.says_missing and not verdict.missing:
        return "use, and no word of missing labels"
    return ""


def _false_refusal(kind: Kind, verdict: Said) -> str:
    accepted = ("cannot tell", *kind.right, *kind.allowed)
    return verdict.kind if verdict.kind not in accepted and _refuses(kind, verdict) else ""


def _refuses(kind: Kind, verdict: Said) -> bool:
    """Whether a verdict vouches for less than each that is right."""
    return MILDEST.index(verdict.kind) > max(MILDEST.index(one) for one in kind.right)


def _bad_groups(kind: Kind, study: Planted) -> frozenset[str]:
    """The groups of this study that are misread, as far as it has texts of them."""
    if not kind.names_groups:
        return frozenset()
    return frozenset(f"g{at}" for at in study.misread & set(study.group.tolist()))


def _false_clauses(kind: Kind, study: Planted, verdict: Said) -> Iterator[str]:
    for label in sorted(verdict.classes - kind.bad_classes - kind.doubtful_classes):
        yield f"names the class {label}"
    misread = {f"g{at}" for at in study.misread}
    for group in sorted(verdict.groups - misread):
        yield f"names the group {group}"
    never_filled = bool(kind.fields) and kind.of != kind.fields[0]
    if verdict.missing and not never_filled and not (study.labels < 0).any():
        yield "names missing labels"
    if verdict.alike and verdict.alike != kind.alike:
        yield f"says that texts without a label are {verdict.alike}"
    refuses = verdict.kind in ("do not use", "use one prompt only")
    if refuses and kind.causes and verdict.cause and verdict.cause not in kind.causes:
        yield f"names {verdict.cause} as the reason"


# ----------------------------------------------------------------------------------- opening


def opened(kind: Kind, study: Planted, folder: Path, rng: np.random.Generator) -> Study:
    """The planted study as a user opens it."""
    texts = _texts(study, near=kind.plan.near, rng=rng)
    if kind.plan.coders or kind.fields:
        return _asked(kind, study, texts, folder)
    shape = study.labels.shape
    text, prompt, repeat = (index.ravel() for index in np.indices(shape))
    codes = np.array([*kind.plan.codes, ""])
    columns: dict[str, Any] = {
        "item": text,
        "text": np.array(texts)[text],
        kind.factor: np.char.add("p", prompt.astype(str)),
        "label": codes[study.labels.ravel()],
    }
    roles: dict[str, Any] = {"item": "item", "label": "label", "text": "text", "variant": [kind.factor]}
    if kind.plan.repeats > 1:
        columns["repeat"], roles["repeat"] = repeat, "repeat"
    if (study.gold >= 0).any():
        columns["gold"], roles["gold"] = codes[study.gold[text]], "gold"
    if kind.plan.groups is not None:
        columns["author"] = np.char.add("g", study.group[text].astype(str))
        declared = kind.plan.groups.declared
        if declared:
            roles[declared] = "author" if declared == "group" else ["author"]
    frame = pl.DataFrame(columns)
    document: dict[str, Any] = {"name": "planted", "task": _task(kind)}
    if kind.beside is not None:
        roles["coder"] = "model"
        other = opened_frame(kind, study, columns, codes, rng)
        frame = pl.concat([frame.with_columns(model=pl.lit("m")), other])
    frame.write_parquet(folder / "labels.parquet")
    document["annotations"] = {"source": str(folder / "labels.parquet"), **roles}
    return Study.open(document, folder=folder / "study")


def opened_frame(
    kind: Kind, study: Planted, columns: Mapping[str, Any], codes: np.ndarray, rng: np.random.Generator
) -> pl.DataFrame:
    """The same texts, labelled by the other model: wrong as often as `Kind.beside` says."""
    assert kind.beside is not None
    kinds = len(kind.plan.shares)
    wrong = rng.random(study.truth.size) < kind.beside
    given = np.where(wrong, (study.truth + rng.integers(1, kinds, wrong.size)) % kinds, study.truth)
    labels = np.broadcast_to(given[:, None, None], study.labels.shape)
    return pl.DataFrame({**columns, "label": codes[labels.ravel()]}).with_columns(model=pl.lit("other"))


def _task(kind: Kind) -> dict[str, Any]:
    codes, scale = kind.plan.codes, kind.plan.scale
    if scale is None or scale.level in ("nominal", "ordinal"):
        return {"labels": list(codes), "level": scale.level if scale else "nominal"}
    return {"labels": [{"code": code, "value": float(code)} for code in codes], "level": scale.level}


def _asked(kind: Kind, study: Planted, texts: list[str], folder: Path) -> Study:
    """A study of a function, whose texts several people labelled, or that answers with two fields."""
    codes, prompts = kind.plan.codes, range(kind.plan.prompts)
    places = {text: at for at, text in enumerate(texts)}
    rows = [
        {"text": text, **{f"coder{at}": codes[by] for at, by in enumerate(study.coders[place])}}
        for text, place in places.items()
    ]
    items: dict[str, Any] = {
        "coders": [f"coder{at}" for at in range(kind.plan.coders)],
        "gold": {"coders": "majority"},
    }
    task = _task(kind)
    if kind.fields:
        filled, empty = kind.fields
        rows = [{"text": text, filled: codes[study.gold[place]]} for text, place in places.items()]
        items, task = {}, {"held": False, "fields": {filled: {**task, "gold": filled}, empty: task}}

    def answer(text: str, prompt: str) -> str:
        number = next(at for at in prompts if f"Question {at}:" in prompt)
        label = codes[int(study.labels[places[text], number, 0])]
        return json.dumps(dict(zip(kind.fields, (label, "?"), strict=True))) if kind.fields else label

    asked = {f"p{at}": f"Question {at}: which label fits best?" for at in prompts}
    first = asked.pop("p0")
    document = {
        "name": "planted",
        "task": task,
        "items": {"source": rows, "text": "{{ text }}", **items},
        "prompt": {"instruction": first},
        "variants": [{"use": "instructions", "texts": asked}],
        "models": [{"name": "m", "use": "function"}],
    }
    found = Study.open(document, folder=folder / "study", functions={"m": answer})
    found.run()
    return found


_SYLLABLES = np.array([a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or")])


def _texts(study: Planted, *, near: bool, rng: np.random.Generator) -> list[str]:
    """Texts that nobody could read; copies are alike, or all but for a word."""
    count = int(study.original.max()) + 1
    words = _SYLLABLES[rng.integers(0, _SYLLABLES.size, (count, int(study.words.max()), 3))]
    originals = [
        " ".join("".join(word) for word in text[:length])
        for text, length in zip(words, study.words, strict=True)
    ]
    texts = [originals[at] for at in study.original]
    return [f"{text} {_SYLLABLES[at % 100]}{at}" for at, text in enumerate(texts)] if near else texts


# --------------------------------------------------------------------------------- the table


def judged(task: tuple[str, int]) -> tuple[str, Score]:
    """Plant a study, open it and score its verdict."""
    name, seed = task
    kind = KINDS[name]
    rng = np.random.default_rng([seed, crc32(name.encode())])  # whichever kinds there are
    study = planted(kind.plan, rng)
    with tempfile.TemporaryDirectory() as folder:
        found = said(opened(kind, study, Path(folder), rng))
    verdict = next((found[one] for one in (kind.of, "m") if one in found), next(iter(found.values())))
    return name, scored(kind, study, verdict, seed)


@dataclass
class Row:
    """The scores of one kind."""

    kind: Kind
    scores: list[Score] = field(default_factory=list)

    def share(self, which: Iterable[object]) -> str:
        """The share of studies of which something holds, in percent."""
        holds = list(which)
        return f"{100 * sum(map(bool, holds)) / len(holds):.3g}%" if holds else "–"

    def line(self, name: str) -> str:
        """The row of the table."""
        verdicts = Counter(one.kind for one in self.scores)
        total = len(self.scores)
        given = ", ".join(f"{kind} {100 * n / total:.3g}%" for kind, n in verdicts.most_common())
        quoted = sum(one.quoted for one in self.scores)
        cells = [
            name,
            " or ".join(self.kind.right),
            given,
            self.share(one.false_use for one in self.scores),
            self.share(one.false_refusal for one in self.scores),
            self.share(one.clauses for one in self.scores),
            f"{100 * sum(len(one.missed) for one in self.scores) / quoted:.3g}%" if quoted else "–",
        ]
        return f"| {' | '.join(cells)} |"

    def above(self) -> str:
        """Which bounds this kind is above; of good studies, those of fewer than 100 texts may be unsure."""
        total = len(self.scores)
        unsure = sum(one.kind == "cannot tell" for one in self.scores) / total
        found = {
            "false use": sum(bool(one.false_use) for one in self.scores) / total > 0.05,
            "false do not use": sum(bool(one.false_refusal) for one in self.scores) / total > 0.05,
            "false clauses": sum(bool(one.clauses) for one in self.scores) / total > 0.01,
            "cannot tell": self.kind.right == ("use",) and self.kind.plan.texts >= 100 and unsure > 0.1,
        }
        return ", ".join(bound for bound, above in found.items() if above)

    def faults(self, name: str) -> Iterator[str]:
        """The first studies that were judged wrongly."""
        found: dict[str, list[Score]] = defaultdict(list)
        for one in sorted(self.scores, key=lambda score: score.seed):
            for what in (one.false_use, one.false_refusal):
                if what:
                    found[f"false: {what}"].append(one)
            for clause in one.clauses:
                found[f"clause: {clause}"].append(one)
            for quote in one.missed:
                found[f"interval: {quote.split(' [')[0]}"].append(one)
        for what, scores in sorted(found.items(), key=lambda pair: -len(pair[1])):
            first = scores[0]
            yield f"{name}: {what}: {len(scores)} of {len(self.scores)}, seed {first.seed}: {first.sentence}"


HEAD = (
    "| study | right | said | false use | false do not use | false clause | intervals that miss |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


def rows(
    seeds: Iterable[int], names: Iterable[str], processes: int = 2, kept: Path = Path(os.devnull)
) -> dict[str, Row]:
    """Judge studies of these kinds, one for each seed, but for those whose scores are kept in a file."""
    found = {name: Row(KINDS[name]) for name in names}
    tasks = dict.fromkeys((name, seed) for seed in seeds for name in found)
    for line in kept.read_text(encoding="utf-8").splitlines() if kept.exists() else ():
        name, score = _read(line)
        if (name, score.seed) in tasks:
            found[name].scores.append(score)
            del tasks[name, score.seed]
    if not tasks:
        return found
    with get_context("spawn").Pool(processes) as pool, kept.open("a", encoding="utf-8") as lines:
        for at, (name, score) in enumerate(pool.imap_unordered(judged, tasks, chunksize=4), 1):
            found[name].scores.append(score)
            print(json.dumps({"name": name, **asdict(score)}), file=lines, flush=True)
            if at % 500 == 0:
                print(f"{at} of {len(tasks)}", file=sys.stderr, flush=True)
    return found


def _read(line: str) -> tuple[str, Score]:
    """A kept score, and of which kind it is."""
    score = json.loads(line)
    name = score.pop("name")
    return name, Score(**score | {"clauses": tuple(score["clauses"]), "missed": tuple(score["missed"])})


def main(seeds: Iterable[int], names: list[str], processes: int) -> None:
    """Print the table, and what was judged wrongly."""
    unknown = set(names) - KINDS.keys()
    if unknown:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(KINDS)}")
    found = rows(seeds, names or KINDS, processes, Path(os.environ.get("KEPT", os.devnull)))
    above = [f"{name}: above the bound of {row.above()}" for name, row in found.items() if row.above()]
    print(*HEAD, *(row.line(name) for name, row in found.items()), sep="\n")
    print(
        *(fault for name, row in found.items() for fault in row.faults(name)),
        *above,
        sep="\n",
        file=sys.stderr,
    )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    first, _, last = (arguments[0] if arguments else "100").rpartition(":")
    seeds_given = range(int(first or 0), int(last))
    main(seeds_given, arguments[1:], int(os.environ.get("PROCESSES", "2")))
