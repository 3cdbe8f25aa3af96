"""``quaver compare``, ``gold`` and ``accept``: what to decide, and the labels of people for it."""

from __future__ import annotations

import shlex
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typing_extensions import Unpack

from quaver.cli.command_options import (
    HERE,
    FieldOption,
    FileArgument,
    FileOption,
    FolderArgument,
    FunctionOption,
    ShareOption,
    StudyArgument,
    open_both,
    open_fields,
    open_study,
    study_file,
    with_options,
)
from quaver.cli.console import (
    give,
    give_each,
    printer,
    say,
    say_command,
    say_heading,
    screen,
    show_published,
    table,
)
from quaver.cli.run_display import phase, say_making, show_outcome, watching
from quaver.collect.store.store_lock import stopping
from quaver.core.number_format import count, percent, promised, short_name
from quaver.core.replaced_file import replace_document
from quaver.errors import QuaverError, StoreError
from quaver.study.gold_sample.gold_options import GoldOptions

if TYPE_CHECKING:
    from quaver.acceptance.accepted_labels import Acceptance, Accepted
    from quaver.comparison.comparison_result import Comparison
    from quaver.study.gold_sample.gold_plan import GoldRound
    from quaver.study.gold_sample.study_gold import StudyGold


def show_comparison(comparison: Comparison, most: int) -> None:
    """Show a comparison, with so many of its flipped items."""
    from quaver.comparison.comparison_result import FIXED, headline, judged_rows, rows_of  # loads polars

    tell = printer("compare", found=comparison)
    tell("head")
    screen.print()
    rows = [row for row in rows_of(comparison.verdicts) if row.estimate.value is not None]
    if rows:
        level = f"{100 * rows[0].estimate.confidence_level:.4g}% interval"
        heads = ["measure", "where", "before", "after", "difference", level, "unpaired"]
        numbers = attrgetter("measure", "where", "before", "after", "difference", "interval", "unpaired")
        cells = [[*numbers(row)] for row in rows]
        if not any(row.where for row in rows):
            for line in (heads, *cells):
                del line[1]
        screen.print(table(heads, cells))
        screen.print()
        say(FIXED)
        screen.print()
    tell("verdicts")
    screen.print()
    tell("flips", most)
    if most and not comparison.flips.is_empty():
        _show_flips(comparison, most)
    if comparison.judgements:
        screen.print()
        tell("bounds")
        for row in (row for row in judged_rows(comparison) if row.failed):
            say(f"  {row.measure}{f' ({row.where})' * bool(row.where)}: {row.sentence}")
        screen.print()
        say(f"{headline(comparison)}.", style="bold")


def _show_flips(comparison: Comparison, most: int) -> None:
    """Show the flipped items, without columns in which they do not differ."""
    import polars as pl

    from quaver.core.records import NO_LABEL

    flips = comparison.flips
    kept = ["item", "before", "after"]
    if flips["gold"].null_count() < flips.height:
        kept.append("gold")
    columns = [name for name in flips.columns if name in kept or flips[name].n_unique() > 1]
    absent = {"before": NO_LABEL, "after": NO_LABEL, "gold": "no gold label"}  # a label may be called None
    texts = flips.select(columns).head(most).cast(pl.String)
    texts = texts.with_columns(pl.col(name).fill_null(absent.get(name, "")) for name in columns)
    screen.print(table(columns, [list(map(short_name, row)) for row in texts.iter_rows()]))
    if flips.height > most:
        screen.print(f"… and {flips.height - most:,} more; --json has them all.")


_MOST_FLIPS = 20


def compare_command(
    before: FileArgument,
    after: FolderArgument = None,
    by: str | None = None,
    reference: str | None = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT")] = None,
    measure: list[str] | None = None,
    fail_if: Annotated[list[str] | None, typer.Option(metavar="BOUND")] = None,
    fail_unless: Annotated[list[str] | None, typer.Option(metavar="BOUND")] = None,
    margin: Annotated[float | None, typer.Option(min=0)] = None,
    confidence_level: float = 0.95,
    resamples: Annotated[int, typer.Option(min=100)] = 2000,
    flips: Annotated[int, typer.Option(min=0)] = _MOST_FLIPS,
    markdown: FileOption = None,
    junit: FileOption = None,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Compare two studies, models or prompts on the same items.

    Differences are paired by item. Exits with 1 if a bound fails, so that it can guard a prompt in CI.
    Without a second study and --by, a study's prompts are compared with the original.

    Options:
      before: A study: its file, folder or bundle.
      after: Another version of the same items; without it, one study's prompts are compared.
      by: Compare the levels of this column in one study: model, variant, a factor.
      reference: The level to compare the others with; by default the original or first.
      note: Add this sentence to every prompt, ask again, and compare sensitivity, consistency, accuracy,
        and the worst items.
      measure: A measure; by default the studies' own. May be repeated.
      fail_if: Exit with 1 if the whole interval is beyond this: 'accuracy < 0'; loss: if any users
        lose.
      fail_unless: Exit with 1 unless the whole interval is: 'accuracy > -0.02'.
      margin: The largest loss that you take for none; by default 0.03: three points.
      confidence_level: Level of the intervals.
      resamples: Random draws, where a measure needs them.
      flips: How many flipped items to show.
      markdown: Write Markdown for a pull request's comment to this file.
      junit: Write JUnit XML to this file.

    Examples:
      quaver compare before.quaver.zip study.yaml
      quaver compare study.yaml --by model
      quaver compare study.yaml --note 'A question about dates counts as Number.'
      quaver compare old new --fail-unless 'accuracy > -0.03'
      quaver compare old new --fail-if loss --junit x.xml
    """
    from quaver.comparison.comparison_result import junit as as_junit
    from quaver.comparison.comparison_result import markdown as as_markdown
    from quaver.comparison.difference_verdict import MARGIN
    from quaver.comparison.paired_comparison import compare

    if note is not None:
        after = _asked_with(note, before, after or by, function)
        measure = measure or ["sensitivity", "consistency", "accuracy"]
    both = open_both(before, after, function, field)
    with phase("Comparing"):
        comparison = compare(
            *both,
            by=by,
            reference=reference,
            measures=measure,
            fail_if=fail_if or (),
            fail_unless=fail_unless or (),
            margin=MARGIN if margin is None else margin,
            confidence_level=confidence_level,
            resamples=resamples,
        )
    if markdown is not None:
        _write(markdown, as_markdown(comparison, flips=flips))
    if junit is not None:
        _write(junit, as_junit(comparison, file=study_file(after or before)))
    show_comparison(comparison, flips)
    if note is not None:
        from quaver.papers.catalogue import table as published

        screen.print()
        show_published(published({"before": both[0], "after": both[1]}, "before-and-after"))
    give(comparison.document)
    if not comparison.held:
        raise typer.Exit(1)


def _asked_with(note: str, before: Path, other: object, function: list[str] | None) -> Path:
    """The file of a study with a note in its prompts, of which every call is answered."""
    from quaver.design.calls.lock_file import write_noted
    from quaver.study.sources.study_file_source import asking

    if other is not None:
        raise QuaverError(
            "a note makes the study to compare with",
            where="--note",
            fix=f"leave out the note, or {other}",
        )
    study = open_study(before, function)
    path = write_noted(study.source.positions, note, asking(study.source).left_of_budget)
    if kept := study.source.files.read("paraphrases.json"):  # the same ones before and after
        path.with_suffix("").mkdir(exist_ok=True)
        replace_document(path.with_suffix("") / "paraphrases.json", kept)
    noted = open_study(path, function)
    noted.variants.make(watch=say_making)
    read = all(note in variant.layout for variant in noted.experiment.variants)
    if not read or "function" in [model.use for model in study.spec.models]:
        raise QuaverError(
            "the note cannot be inserted unchanged into every prompt",
            where=str(path),
            expected="one layout for all prompts with {{ instruction }} or {{ question }}, models that get "
            "the whole prompt: a function gets only the question",
            fix="write the note into the prompts in a copy of the study file, run it, and compare the two",
        )
    with watching() as watch, stopping(noted.folder):
        show_outcome(noted.run(watch=watch), noted)
    return path


def _write(path: Path, text: str) -> None:
    """Write a file about a comparison."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError("the file cannot be written", where=str(path), found=str(error)) from None


@with_options(GoldOptions)
def gold_command(
    study: StudyArgument = HERE,
    *,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT")] = "xlsx",
    forecast: bool = False,
    sheets: bool = False,
    take: list[Path] | None = None,
    coder: str | None = None,
    apart: str | None = None,
    adjudicate: Annotated[str | None, typer.Option(metavar="NAME")] = None,
    rule: str | None = None,
    field: FieldOption = None,
    function: FunctionOption = None,
    **options: Unpack[GoldOptions],
) -> None:
    """Draw items for people to label, and take their labels back.

    Each item's probability of being drawn is known and recorded, so that estimates can be corrected with the
    labels. Sheets never show a model's label. Without a size or a file, says where the sample stands.

    Options:
      form: The sheets: xlsx or csv.
      forecast: Only say what the sample would take and bring.
      sheets: Write sheets anew, of what is not labelled yet.
      take: Take back a file of labels.
      coder: Who labelled, where the file does not say.
      apart: Why these items were chosen, if not by the design; they are kept apart.
      adjudicate: Who decides where coders disagree; writes their sheet.
      rule: majority: the label of more than half of the coders holds; or adjudicator.

    Examples:
      quaver gold study.yaml --n 200 --forecast
      quaver gold study.yaml --n 200 --coders ada,ben
      quaver gold study.yaml --n 200 --format csv
      quaver gold study.yaml --take gold/round-1-ada.xlsx
      quaver gold study.yaml --adjudicate carla
      quaver gold study.yaml --n 300
      quaver gold study.yaml --take hard.csv --apart "hardest items"
    """
    gold = open_study(study, function, field=field).gold
    draws = forecast or any(value is not None for value in options.values())
    settles = adjudicate is not None or rule is not None
    _check_one(draws, sheets, bool(take), settles)
    files: list[Path] = []
    drawn: GoldRound | None = None
    if forecast:
        drawn = gold.forecast(**options)
    elif draws:
        made = gold.draw(**options, form=form)  # type: ignore[arg-type]
        drawn, files = made, list(made.files)
        if made.known:
            say(
                f"Your table has gold labels of {made.known:,} of the {made.drawn:,} drawn items; they count."
            )
    elif sheets:
        files = gold.sheets(form)  # type: ignore[arg-type]
    elif settles:
        files = gold.adjudicate(adjudicate, rule=rule, form=form)  # type: ignore[arg-type]
    for path in take or ():
        taken = gold.take(path, coder=coder, apart=apart)
        changed = f", {taken.changed:,} changed" if taken.changed else ""
        say(f"{path}: {count(taken.new, 'new label')}{changed}")
    _report(gold, drawn, files)
    if files:
        is_sheet = len(files) == 1 and form == "xlsx"  # other forms have a list of codes beside
        words = ["quaver", "gold", str(study), "--take", str(files[0]) if is_sheet else "FILE"]
        words += ["--field", field] if field else []
        for path_of_function in function or ():
            words += ["--function", path_of_function]
        say_command("Next: once it is filled in,", shlex.join(words))


def _check_one(*asked: bool) -> None:
    if sum(asked) > 1:
        raise QuaverError(
            "this asks for several things at once",
            where="quaver gold",
            expected="a size, --sheets, --take, or --adjudicate and --rule",
            found="more than one of them",
            fix="run the command once for each",
        )


def _report(gold: StudyGold, drawn: GoldRound | None, files: list[Path]) -> None:
    """Say what was done, and where the sample stands."""
    status = gold.status()
    forecast = drawn.rows()[0] if drawn else None
    give(lambda: status.document() | {"forecast": forecast, "files": files})
    if drawn is not None:
        say(str(drawn))
    for path in files:
        say(f"Wrote {path}")
    if drawn is None or files:
        screen.print(str(status))


def accept_command(
    study: StudyArgument = HERE,
    error: ShareOption = 0.05,
    confidence: ShareOption = 0.95,
    by: str | None = None,
    evaluator: str | None = None,
    out: Path | None = None,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Say which labels may be accepted, and which need a person.

    From a gold sample that quaver gold drew: at most so many of the accepted labels are wrong.

    Options:
      error: The share of accepted labels that may be wrong.
      confidence: How sure that must be.
      by: Promise it for each group of this column, or with 'label' for each class.
      evaluator: The evaluator; by default the study's first.
      out: The CSV of the items; by default accepted.csv in the study's folder.

    Examples:
      quaver accept study.yaml
      quaver accept study.yaml --error 0.1 --by label
      quaver accept study.yaml --out accepted-labels.csv
    """
    documents = {}
    for name, opened in open_fields(study, function, field).items():
        acceptance = opened.gold.accept(
            error=error,
            confidence_level=confidence,
            by=by,
            evaluator=evaluator,
        )
        documents[name] = acceptance.document()
        path = out.with_stem(f"{out.stem}-{name}") if out and name else out
        if path is None and opened.source.keeps_results:
            path = opened.folder / "accepted.csv"
        if path is not None:
            acceptance.write(path)
        say_heading("Field", name)
        _show(acceptance)
        if path is not None:
            say(f"Wrote {path}")
    give_each("fields", documents)


def _show(acceptance: Acceptance) -> None:
    say(acceptance.headline)
    for note in acceptance.notes:
        say(note)
    heads = ("accepted", "share", "checked", "wrong")
    if acceptance.by:
        screen.print()
        screen.print(
            table((acceptance.by, *heads), [(level.level, *_cells(level)) for level in acceptance.found])
        )
    screen.print()
    rows = [(promised(point.promise), *_cells(point)) for point in acceptance.curve]
    screen.print(table(("at most wrong", *heads), rows))
    if acceptance.groups:
        shown = [
            (group.column, group.level, *_cells(group), _share(group.at_most)) for group in acceptance.groups
        ]
        screen.print()
        screen.print(table(("group", "level", *heads, "at most wrong"), shown))


def _share(value: float | None) -> str:
    return "" if value is None else percent(value)


def _cells(accepted: Accepted) -> tuple[str | int, ...]:
    return f"{accepted.accepted:,}", _share(accepted.share), accepted.checked, accepted.wrong
