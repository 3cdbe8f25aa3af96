"""What the commands show of a run or of a collection's runs: progress, events, how it ended."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from quaver.cli.console import errors, plain, say, screen, show, table
from quaver.cli.terminal_tables import estimates_tables
from quaver.core.number_format import duration, moment
from quaver.errors import QuaverError, StoreError
from quaver.study.sources.named_functions import functions_of

if TYPE_CHECKING:
    from quaver.collect.run.progress import Outcome, Progress
    from quaver.core.records import Condition
    from quaver.many_studies.collection import Collection
    from quaver.report.findings.verdicts import Quality
    from quaver.study.collection.study_status import StudyStatus
    from quaver.study.session import Study
    from quaver.study.sources.shards import ShardStatus

READ_IN_PASSING = 200_000
"""Answers; more take the better part of a minute to read, which ``quaver measure`` does anyway."""

_CONDITIONS = 8
"""Conditions that are shown while a study runs."""

_SECONDS = 15
"""Between two lines of progress, where there is no terminal."""

_AGAIN = "Run again to continue."
_RAISE = "Raise it in the study file and run again to continue."
_ENDS = {
    "interrupted": ("Interrupted", _AGAIN),
    "calls": ("Stopped at the budget of calls", _RAISE),
    "tokens": ("Stopped at the budget of tokens", _RAISE),
    "money": ("Stopped at the budget of money", _RAISE),
    "seconds": ("Stopped at the budget of time", _AGAIN),
    "requests": ("Stopped after the requests of the pilot", _AGAIN),
}
"""Why a run ended before its end, and what to do."""

REACHED = {"narrow": "as narrow as you asked", "clear": "clear of the value that you named"}
"""Ends of a collection in rounds that has what it was for."""


@contextmanager
def writing_events(target: str) -> Iterator[TextIO | None]:
    """Where events go: appended to a file, to standard output for ``-``, nowhere for an empty name."""
    if target in ("", "-"):
        yield sys.stdout if target else None
        return
    try:
        file = Path(target).open("a", encoding="utf-8")  # noqa: SIM115 - closed below
    except OSError as error:
        raise QuaverError(
            "the events cannot be written", where=target, found=error.strerror or str(error)
        ) from error
    with file:
        yield file


@contextmanager
def watching(study: Study) -> Iterator[Any]:
    """Shows a run by condition, with its pace, tokens, money and errors; without a terminal, now and then."""
    conditions = study.experiment.conditions
    with Live(console=errors, transient=True, refresh_per_second=4) as live:
        last = time.monotonic()
        given_up: set[str] = set()

        def watch(progress: Progress) -> None:
            nonlocal last
            for name in [name for name in progress.given_up if name not in given_up]:
                say(f"{name} failed for good; the others continue: {progress.given_up[name]}", on=errors)
            given_up.update(progress.given_up)
            if errors.is_terminal:
                live.update(_progress(progress, conditions))
            elif time.monotonic() - last >= _SECONDS:
                last = time.monotonic()
                say(str(progress), on=errors)

        yield watch


def _progress(progress: Progress, conditions: Sequence[Condition]) -> Group:
    """The run's line with a bar, and a line for each condition that advanced most lately."""
    total = max(1, progress.total)
    bar = Table.grid()
    bar.add_row(ProgressBar(total=total, completed=progress.before + progress.done, width=40))
    parts: list[Any] = [plain(progress), bar]
    rows = [
        (f"{one.model} · {one.asked_as} · {one.variant}", done)
        for at, done in progress.by_condition.most_common(_CONDITIONS)
        for one in conditions[at : at + 1]
    ]
    if len(progress.by_condition) > 1:
        parts.append(table(("condition", "answered in this run"), rows))
    if progress.by_kind:
        parts.append(errors_table(progress.by_kind))
    return Group(*parts)


def say_making(what: str) -> None:
    """Say that a model is about to make paraphrases, which takes a while."""
    errors.print(f"Making {what} …")


def errors_table(kinds: Counter[str]) -> Group:
    """Errors by kind, the most frequent first."""
    return table(("errors", "kind"), [(count, kind) for kind, count in kinds.most_common(10)])


def quality_in_passing(study: Study, status: StudyStatus) -> Quality | None:
    """The quality of a study's answers; None where reading them is slow or disturbs a running process."""
    if not status.answered or status.process is not None or status.answered > READ_IN_PASSING:
        return None
    try:
        return study.quality()
    except StoreError:  # the folder is full or cannot be written; measuring says so
        return None


def say_quality(quality: Quality | None, on: Console = screen) -> None:
    """Print a line for each thing that is wrong with the answers."""
    from quaver.report.findings.key_results import quality_lines

    for line in quality_lines(quality) if quality else ():
        say(line, on=on)


def show_outcome(outcome: Outcome, study: Study, on: Console = screen) -> StudyStatus:
    """Print how a run ended, what is stored, what it cost, and how to continue; the status it leaves."""
    status = study.status()
    for line in _collected(outcome, status):
        say(line, on=on)
    if outcome.ended != "interrupted":
        say_quality(quality_in_passing(study, status), on)
    if outcome.ended in REACHED:
        left = f"{outcome.missing:,} calls of the whole design were not needed"
        say(f"The interval is {REACHED[outcome.ended]}: {left}. {status.round_verdict}".rstrip(), on=on)
    elif outcome.ended == "batches":
        out = sum(one.calls for one in status.batches)
        batches = f"{len(status.batches):,} batch{'es' * (len(status.batches) != 1)}"
        shown = f"{out:,} calls are out in {batches}. `quaver status` shows them; run again to collect them."
        say(shown if out else f"{outcome.missing:,} calls are left. Run again to hand them over.", on=on)
    elif outcome.ended != "finished":
        why, then = _ENDS[outcome.ended]
        say(f"{why}: {outcome.missing:,} calls are left. {then}", on=on)
    return status


def _collected(outcome: Outcome, status: StudyStatus) -> Iterator[str]:
    """What a run collected, took and met."""
    pace = f" in {duration(outcome.seconds)}" if outcome.done else ""
    stored = outcome.before + outcome.reused + outcome.done
    yield f"{outcome.done:,} answers collected{pace}; {stored:,} of {outcome.total:,} are stored."
    if outcome.reused:
        yield f"{outcome.reused:,} more answers were taken from other studies."
    if outcome.tokens:
        cost = f", ${outcome.money:,.4f}" if outcome.money else ""
        yield f"{outcome.tokens:,.0f} tokens{cost} in all runs together."
    if outcome.errors:
        are = "is an error" if outcome.errors == 1 else "are errors"
        yield f"{outcome.errors:,} of them {are}; `quaver run --retry-errors` asks again for what failed."
        for kind, count in status.by_kind.most_common(3):
            yield f"  {count:,} × {kind}"
    if status.outside:
        yield status.outside
    yield from (f"Warning: {warning}." for warning in status.warnings)


def open_collection(
    path: Path, functions: Sequence[str] | None = None, *, small: bool = False
) -> Collection | None:
    """The collection of a command's argument; None where it is a study."""
    from quaver.many_studies.collection_file import is_collection

    if not is_collection(path):
        return None
    from quaver.many_studies.collection import Collection  # few commands are about one

    return Collection.open(path, functions=functions_of(functions), small=small)


def show_plans(of: Collection) -> None:
    """What each study will take, and all together."""
    plans = of.plan()
    rows = [
        (
            row["study"],
            row["model"],
            row["items"],
            row["variants"],
            row["calls"],
            row["answered"],
            "done" if row["answered"] == row["calls"] else duration(row["seconds"]),
            "unknown" if row["most"] is None else f"${row['most']:,.2f} at most" if row["most"] else "free",
        )
        for row in plans.rows()
    ]
    heads = ("study", "model", "items", "variants", "calls", "answered", "time left", "cost left")
    screen.print(table(heads, rows))
    studies = "1 study" if len(of.studies) == 1 else f"{len(of.studies)} studies"
    say(f"{plans.calls:,} calls in {studies}, {plans.stored:,} of them answered.")


def run_collection(of: Collection, *, retry_errors: bool) -> None:
    """Run the studies one after the other, each with its progress."""
    for study in of.studies.values():
        study.variants.make(watch=say_making)
    with ExitStack() as shown:
        current: dict[str, object] = {}

        def watch(name: str, progress: Progress) -> None:
            if name not in current:
                shown.pop_all().close()
                if screen.is_terminal:
                    say(f"{name}:")
                current[name] = shown.enter_context(watching(of.studies[name]))
            current[name](progress)  # type: ignore[operator]

        outcomes = of.run(watch=watch, retry_errors=retry_errors)
    for name, outcome in outcomes.items():
        say(f"{name}:")
        show_outcome(outcome, of.studies[name])
    if left := [name for name in of.studies if name not in outcomes]:
        say(f"Not run: {', '.join(left)}. The collection's budget is spent, or the run was interrupted.")
    if any(outcome.ended == "interrupted" for outcome in outcomes.values()):
        raise typer.Exit(130)


def show_statuses(of: Collection) -> None:
    """How far each study is."""
    status = of.status()
    heads = ("study", "answered", "of", "errors", "tokens", "cost")
    rows = [
        (row["study"], row["answered"], row["calls"], row["errors"], int(row["tokens"]), _money(row["money"]))
        for row in status.rows()
    ]
    screen.print(table(heads, rows))
    say(f"{status.answered:,} of {status.total:,} calls are answered, {_money(status.money)}.")


def show_measures(of: Collection, names: Sequence[str] | None) -> None:
    """The studies' measures beside each other, and effects pooled over studies."""
    from quaver.core.estimate_frame import undefined_because

    estimates = of.estimates(names)
    show(estimates_tables([one for one in estimates if one.value is not None]))
    if because := undefined_because(estimates):
        say(f"{because}.")


def _money(spent: float | None) -> str:
    return "cost unknown" if spent is None else f"${spent:,.2f}" if spent else "free"


def shard_lines(shards: Sequence[ShardStatus]) -> Iterator[str]:
    """How many shards are finished, and what there is to say of each of the others."""
    if not shards:
        return
    done = sum(one.state == "finished" for one in shards)
    yield f"{done:,} of {len(shards):,} shards are finished."
    missing = [one.shard for one in shards if one.state == "missing"]
    if missing:
        yield f"Missing: {', '.join(missing)}. Run them with `quaver run --shard {missing[0]}`."
    for one in shards:
        if one.state in ("running", "stopped"):
            seen = f", as of {moment(one.seen)}" if one.seen else ""
            yield (
                f"Shard {one.shard}: {_state(one)}; {one.answered:,} of {one.calls:,} calls answered{seen}."
            )


def _state(one: ShardStatus) -> str:
    if one.state == "running":
        return f"running on {one.host}"
    stopped = {
        None: "killed, or its machine is gone",
        "interrupted": "interrupted",
        "batches": "out in batches",
    }
    why = stopped.get(one.ended, f"stopped at its share of the budget of {one.ended}")
    return f"{why}; run it again"


def shard_line(study: Study) -> str:
    """What a shard is about to ask, and what it may spend."""
    from quaver.study.sources.study_file_source import asking

    source = asking(study.source)
    whole, part = source.spec.budget, source.budget
    caps = [
        f"{value:,} of {getattr(whole, name):,} {name}"
        for name, value in (("calls", part.calls), ("tokens", part.tokens))
        if value is not None
    ]
    if part.money is not None:
        caps.append(f"${part.money:,.2f} of ${whole.money:,.2f}")
    share = f" Its share of the budget: {', '.join(caps)}." if caps else ""
    total = source.experiment.calls
    return f"Shard {source.share}: {source.calls:,} of {total:,} calls, in {source.folder}.{share}"
