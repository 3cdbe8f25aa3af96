"""The Python reference: the names that users import, in groups, one page each."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType

from docstring_markdown import markdown

import quaver
from quaver.measures import FUNCTIONS


@dataclass(frozen=True)
class Group:
    """One page of the reference.

    Args:
        page: Its file name.
        title: What you do with these names.
        about: The sentence under the title.
        names: Names in `quaver`, in this order.
        given: Full names of what these functions take or return, which nobody imports by itself.
    """

    page: str
    title: str
    about: str
    names: tuple[str, ...] = ()
    given: tuple[str, ...] = ()


GROUPS = (
    Group(
        "studies",
        "Run a study",
        "One call checks a table of texts. A study goes from its file (or a dictionary) to its report: "
        "open it, plan it, run it, measure it.",
        ("check", "Check", "Study", "open_studies"),
        (
            "quaver.study.checking.check_options.CheckOptions",
            "quaver.study.collection.study_run.StudyVariants",
            "quaver.study.collection.forecast.Forecast",
            "quaver.study.gold_sample.study_gold.StudyGold",
            "quaver.study.gold_sample.gold_options.GoldOptions",
            "quaver.study.gold_sample.gold_plan.GoldRound",
            "quaver.study.gold_sample.gold_status.GoldStatus",
            "quaver.collect.run.progress.Outcome",
            "quaver.study.collection.study_status.StudyStatus",
            "quaver.study.sources.study_source.StudySource",
            "quaver.acceptance.accepted_labels.Acceptance",
            "quaver.acceptance.accepted_labels.Accepted",
        ),
    ),
    Group(
        "labels",
        "Measure labels that you have",
        "Labels from any program or any coder: make a study of them, or measure how far they agree.",
        ("import_annotations", "measure_agreement", "Label", "LabelSet"),
        (
            "quaver.study.imports.import_options.ImportOptions",
            "quaver.promptstability.prompt_stability_analysis.PromptStabilityAnalysis",
            "quaver.promptstability.rewording.get_api_key",
            "quaver.promptstability.rewording.load_example_data",
        ),
    ),
    Group(
        "comparisons",
        "Compare two studies",
        "What a change did: paired differences and bounds.",
        ("compare", "Comparison"),
        (
            "quaver.comparison.bounds.Judgement",
            "quaver.comparison.difference_verdict.Verdict",
            "quaver.core.label_decisions.Decision",
        ),
    ),
    Group(
        "bundles",
        "Pack and verify a study",
        "One archive with everything in it, and the command that makes again what follows from the answers.",
        ("bundle", "verify"),
        ("quaver.bundles.packed_design.Verification",),
    ),
    Group(
        "results",
        "Read results",
        "What measures and verdicts are: a value with its interval, or the reason why there is none.",
        ("Estimate",),
        (
            "quaver.core.rows.Estimates",
            "quaver.report.page.paper_parts.Paper",
            "quaver.estimation.declaration.Measure",
        ),
    ),
)

_BLOCK = "::: {}\n    options:\n      heading_level: 2\n"


def pages() -> Iterator[tuple[str, str]]:
    """Each page: its path in the site and its Markdown."""
    groups = [(group, [*_members(quaver, group.names), *group.given]) for group in GROUPS]
    grouped = {name for group in GROUPS for name in group.names}
    errors = set(quaver.errors.__all__)
    rest = _members(quaver, sorted(set(quaver.__all__) - grouped - errors))
    measures = _members(quaver.measures, sorted(FUNCTIONS))
    for group, names in groups:
        names += rest if group.page == "studies" else []
        yield f"reference/python/{group.page}.md", _page(group.title, group.about, names)
    yield (
        "reference/python/measures.md",
        _page("Functions beside the measures", _MEASURES, measures),
    )
    yield "reference/python/agreement.md", _agreement()
    yield "reference/python/errors.md", _page("Errors", _ERRORS, _members(quaver.errors, sorted(errors)))
    yield "reference/python/index.md", _index()


_MEASURES = (
    "Every measure is a function of `quaver.measures` and has [a page of its own](../../measures/index.md). "
    "These functions of annotations and estimates stand beside them."
)
_ERRORS = (
    "Every error that you can do something about is a `QuaverError`: it says where the problem is, what was "
    "expected, what was found, and what to do."
)


def _index() -> str:
    """The table of the groups."""
    lines = [
        "# Python",
        "",
        "`import quaver` is all you need; importing it loads no large library. Start with "
        "[a study of four texts](../../notebook.md).",
        "",
        "| to | names |",
        "| --- | --- |",
    ]
    for group in GROUPS:
        lines.append(f"| [{group.title}]({group.page}.md) | {_listed(group.names)} |")
    lines += [
        "| [Measure any labels](../../measures/index.md) | `quaver.measures`: a page for each measure |",
        f"| [Functions beside the measures](measures.md) | {_listed(sorted(FUNCTIONS))} |",
        f"| [Agreement coefficients](agreement.md) | {_listed(quaver.agreement.__all__)} |",
        "| [Catch errors](errors.md) | `QuaverError` and the errors under it |",
    ]
    return "\n".join(lines) + "\n"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _page(title: str, about: str, names: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", about, "", *(_BLOCK.format(name) for name in names)])


def _agreement() -> str:
    """The coefficients of agreement, each with its arguments and its documentation."""
    blocks = [
        "# Agreement coefficients\n\n`quaver.agreement` has the coefficients of items × raters, for ratings "
        "of any origin: a matrix, lists, or a frame with one rating a row."
    ]
    for name in quaver.agreement.__all__:
        one = getattr(quaver.agreement, name)
        call = "".join(f"    {parameter},\n" for parameter in one.__signature__.parameters.values())
        text = markdown(inspect.getdoc(one) or "")
        blocks.append(f"## {name}\n\n```python\n{name}(\n{call}) -> Estimate\n```\n\n{text}")
    return "\n\n".join(blocks)


def _members(package: ModuleType, names: Iterable[str]) -> list[str]:
    """The full names of a package's classes and functions."""
    found = [getattr(package, name) for name in names]
    return [
        f"{one.__module__}.{one.__qualname__}"
        for one in found
        if inspect.isclass(one) or inspect.isfunction(one)
    ]
