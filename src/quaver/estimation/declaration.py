"""How a measure is declared: everything that Quaver knows of it stands in one place.

A measure is a function with the arithmetic on one cell of the data, under a declaration of the rest::

    @measure(
        title="How often the label is the true one: accuracy, beside what guessing gives",
        axis="share of right answers",
        section="accuracy",
        unit="share",
        better="higher",
        missing=("wrong", "drop"),
        raters=ASKING,
        gold=True,
        source="Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, section 8.3",
    )
    def accuracy(cell: Cell, *, missing: Missing) -> Iterator[Statistic]:
        '''The share of answers whose label is the item's gold label.

        Accuracy = right answers / answers about items with a gold label. Undefined where no item has a gold
        label.

        >>> import polars as pl
        >>> from quaver.measures import accuracy
        >>> frame = pl.DataFrame({"item": [1, 2, 3, 4], "label": list("aaab"), "gold": list("aabb")})
        >>> accuracy(frame)[0].value
        0.75

        '''
        judged = judge(cell, missing)
        said = Statistic(method="share of right answers", reason=judged.reason, excluded=judged.excluded)
        yield share_of(cell, judged.right.sum((1, 2)), judged.asked.sum((1, 2)), said)

One line among the entry points makes it Quaver's (or a plug-in's)::

    [project.entry-points."quaver.measures"]
    accuracy = "my_package.accuracy:accuracy"

The name is the function's. What ``accuracy`` is now is a `Measure`: called with a frame, it cuts it into the
cells that ``by`` makes, has the function say what each cell's numbers are, leaves units out, and gives
estimates::

    accuracy(frame, by=["model"], confidence_level=0.9)

Its signature and its docstring have the arguments that all measures share (`Measure.__call__`), written
once, beside its own: the function's keyword-only parameters, which are checked against their types. Of the
shared arguments only ``missing`` goes to the function, where it names it; the default is the first treatment
that is declared. A measure that declares no treatment has no such argument.

**What the function yields.** A `Statistic` for each number: a function of item weights (``under``), from
which the value, the interval and the difference between two studies come alike; the method in words; how
many units rest behind it; what was left out; or the reason why it is undefined. `share_of` makes the most
frequent one. ``ends``, the smallest and the largest value that the number can have, are all that its interval
needs: which units make its error, and whether they are too few, is read off the jackknife. With
``null`` the ``p`` of being that value stands in the details. Statistics that share one function (``column``
says which of its numbers) are taken together. Where
a number needs another one's interval, ``cell.estimated(statistic)`` gives the estimate; a function may change
an estimate and yield that.

**Where one cell is not enough** (a measure reads further columns, has options that decide how cells are cut,
compares cells, or calls other measures) leave ``raters`` out. The function then gets a `MeasureInput`, once,
and yields or returns estimates::

    @measure(title="…", unit="difference", null=0.0, compares=("variant",), missing=("wrong", "drop"))
    def differences(
        data: MeasureInput, *, between: str = "variant", missing: Missing
    ) -> Iterator[Estimate]:
        for cell in data.cells(raters=("repeat",), within=(between,), gold=True):
            yield from adjusted([cell.estimated(one) for one in _differences(cell, missing)])

``reading.frame`` is the frame, ``reading.numbers(role)`` and ``reading.column(role)`` find further columns,
``reading.measured(other)`` takes another measure in the same way.

**Several names.** A statistic with a ``part`` gives an estimate with that ending: ``part="_gain"`` of the
measure ``evaluator_flips`` is ``evaluator_flips_gain``. Declare how each is shown, which its measure's
presentation does not say: ``parts={"_gain": {"title": "…", "unit": "difference"}}``.

**A table of its own.** How a measure is shown, and its source, may stand beside its file instead, in
``presentations.toml``, in a table with the function's name, as those of Quaver's own measures do.

**The docstring** of the function has one line, the formula, when it is undefined, ``Args:`` for its own
options alone, ``Returns:`` where there is more to say than "an estimate for each cell", and a doctest with a
number worked by hand. Source, shared arguments and errors are added.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, Self, TypedDict

from typing_extensions import Unpack

from quaver.core import registry
from quaver.core.arguments import fitted
from quaver.core.input_budget import read_file
from quaver.core.records import Estimand, Estimate, LabelSet
from quaver.core.rows import Better, Drawn, Estimates, Presentation, Unit
from quaver.errors import MeasureError, UnknownName
from quaver.estimation.cells import Frame, Missing, checked, names_of
from quaver.estimation.coded_columns import Columns, Gathered
from quaver.estimation.estimands import over_prompts
from quaver.estimation.jackknife import Resampling
from quaver.estimation.measure_input import MeasureInput
from quaver.estimation.statistic import Statistic

Arithmetic = Callable[..., Iterable[Statistic | Estimate]]
"""What a measure's own function is: of a `Cell` or a `MeasureInput`, and its own options by name."""


_TREATMENTS = {
    "drop": "it is left out",
    "category": "it is one more label",
    "wrong": "it is wrong",
}
_SECTIONS = ("Args", "Returns", "Raises", "Warns")


class Declared:
    """A function whose signature and documentation have the arguments of its kind beside its own.

    Args:
        function: The arithmetic, of one argument and of options by name.
        shared: The method with the arguments of all of the kind.
        missing: The treatments of answers without a label, if it has that option beside the shared ones.
        source: Where it is defined.

    Attributes:
        kind: What it is.
        name: Its name, which is its function's.
        function: Its arithmetic.
        source: Where it is defined.
        own: The function's own options.
    """

    kind = "declared function"

    def __init__(
        self, function: Callable[..., Any], shared: Callable[..., Any], missing: Sequence[str], source: str
    ) -> None:
        self.name, self.function, self.source = function.__name__, function, source
        # A function's own parameters, and the signature of what is declared
        of_all = _resolved(shared)
        common = dict(of_all.parameters)
        del common["self"], common["options"]
        first, *options = _resolved(function).parameters.values()
        own = {option.name: option for option in options}
        named = first.kind is not first.KEYWORD_ONLY and all(
            option.kind is option.KEYWORD_ONLY for option in options
        )
        if not named or own.keys() & common.keys() or ("missing" in own and not missing):
            raise TypeError(
                f"{function.__qualname__}: its own options are keyword-only and have names of their own; "
                "missing is among them where its treatments are declared"
            )
        shown = dict(own)
        if missing:
            default = own["missing"].default if "missing" in own else inspect.Parameter.empty
            default = missing[0] if default is inspect.Parameter.empty else default
            treatments: Any = Literal[tuple(missing)]
            if default is None:
                treatments = treatments | None
            kind = inspect.Parameter.KEYWORD_ONLY
            shown["missing"] = inspect.Parameter("missing", kind, default=default, annotation=treatments)
        parameters = sorted([*shown.values(), *common.values()], key=attrgetter("kind"))
        self.own, self.__signature__ = (
            own,
            inspect.Signature(parameters, return_annotation=of_all.return_annotation),
        )
        self.__name__, self.__qualname__, self.__module__ = self.name, self.name, function.__module__
        self.__wrapped__ = function
        self.__doc__ = _documented(function.__doc__ or "", shared.__doc__ or "", missing, source)

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        """It is documented as functions are (``inspect.isroutine``), and binds nothing."""
        return self

    def __reduce__(self) -> str:
        """Another process finds it where it stands, as it finds functions."""
        return self.name

    def __repr__(self) -> str:
        """Its name and arguments."""
        return f"<{self.kind} {self.name}{self.__signature__}>"


def _resolved(function: Callable[..., Any]) -> inspect.Signature:
    """A signature with types, not their names; with the names where one is there for type checkers only."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)


def _documented(own: str, shared: str, missing: Sequence[str], source: str) -> str:
    """A docstring: its function's, with the source, all arguments, and what it gives and raises."""
    text, sections = _sections(own)
    common = _sections(shared)[1]
    described, arguments = _entries(sections.get("Args", "")), _entries(common["Args"])
    if missing and "missing" not in described:
        treatments = "; ".join(f'``"{treatment}"``: {_TREATMENTS[treatment]}' for treatment in missing)
        described["missing"] = f"    missing: What becomes of an answer without a label. {treatments}."
    del arguments["**options"]
    data = next(iter(arguments))
    together = {data: arguments.pop(data), **described, **arguments}
    raised = _entries(common["Raises"]) | _entries(sections.get("Raises", ""))
    sections = common | sections
    sections |= {"Args": "\n".join(together.values()), "Raises": "\n".join(raised.values())}
    parts = [f"{title}:\n{sections[title]}" for title in _SECTIONS if title in sections]
    return "\n\n".join([*text, f"Source: {source or 'the definition'}.", *parts]) + "\n"


def _sections(docstring: str) -> tuple[list[str], dict[str, str]]:
    """A docstring's paragraphs and examples, and its sections by title."""
    text, sections = [], {}
    for block in inspect.cleandoc(docstring).split("\n\n"):
        title, _, body = block.partition(":\n")
        if title in _SECTIONS:
            sections[title] = body
        else:
            text.append(block)
    return text, sections


def _entries(body: str) -> dict[str, str]:
    """A section's entries by name, each with its indented lines."""
    entries = re.split(r"\n(?=    \S)", body) if body else []
    return {entry.partition(":")[0].strip(): entry for entry in entries}


class Declaration(TypedDict, total=False):
    """What is declared of a measure.

    Up to ``drawn`` it is of `Presentation`, up to ``numbers`` of `MeasureInput.cells`, the rest of `Measure`.
    """

    title: str
    axis: str
    section: str
    unit: Unit
    better: Better
    null: float
    ends: tuple[float, float]
    bar: float
    short: str
    drawn: Drawn
    raters: Sequence[str]
    within: Sequence[str]
    gold: bool
    numbers: Sequence[str]
    parts: Mapping[str, Mapping[str, Any]]
    source: str
    missing: tuple[Missing, ...]
    compares: tuple[str, ...]
    treatments: tuple[str, ...]
    pairs_evaluators: bool
    takes_factors: bool
    of_classes: bool
    estimands: tuple[Estimand, ...]
    of_a_set: bool


class Measure(Declared):
    """A declared measure, called with annotations: see `quaver.estimation.declaration`.

    Attributes:
        name: Its name, which is its function's and its entry point's.
        function: Its arithmetic.
        presentation: How its estimates are shown.
        parts: How those estimates are shown whose names have a further ending, by that ending.
        source: Where it is defined: every estimate's ``reference``, and part of its documentation; "the
            definition" there if left out.
        missing: What answers without a label can count as; the first by default. None: it has no such option.
        compares: The columns whose levels it compares, which a study does not take apart by itself. With
            ``"evaluator"`` among them it is given all evaluators' rows, and the study's first as ``first``.
        treatments: Options by which it may be taken of the same cells more than once, so that estimates say
            with which they were made.
        pairs_evaluators: Whether it sets evaluators side by side that read the same answers: those that read
            a stated confidence are then left out.
        takes_factors: Whether a study gives it the factors that vary, as its option ``factors``.
        of_classes: Whether it counts label by label, which says nothing of numbers: they are no classes.
        estimands: What its interval can hold for; the first by default. Those beyond ``"fixed"`` need nothing
            of the function: it is taken again without each prompt (`quaver.estimation.estimands`).
        of_a_set: Whether its number is one that a set of prompts has (how far they agree), and no mean over
            prompts.
    """

    kind = "measure"

    def __init__(self, function: Arithmetic, declared: Declaration) -> None:
        beside = _beside(Path(function.__code__.co_filename).parent).get(function.__name__, {})
        shown: dict[str, Any] = {"section": "more", **beside, **declared}
        missing, source = declared.get("missing", ()), shown.get("source", "")
        super().__init__(function, Measure.__call__, missing, source)
        self.presentation = _presentation(shown).named(self.name)
        self.parts = {ending: _presentation(part) for ending, part in shown.get("parts", {}).items()}
        self.missing = missing
        self.compares = declared.get("compares", ())
        self.pairs_evaluators = declared.get("pairs_evaluators", False)
        self.takes_factors = declared.get("takes_factors", False)
        self.of_classes = declared.get("of_classes", False)
        cells = ("raters", "within", "gold", "numbers")
        self._cells: dict[str, Any] = {name: value for name, value in declared.items() if name in cells}
        self.estimands = declared.get("estimands", ("fixed",))
        self.of_a_set = declared.get("of_a_set", False)
        self.treatments = (
            *declared.get("treatments", ()),
            *(("missing",) if missing else ()),
            *(("estimand",) if len(self.estimands) > 1 else ()),
        )

    @property
    def options(self) -> tuple[str, ...]:
        """Its own options, ``missing`` among them."""
        return (*self.own, "missing") if self.missing and "missing" not in self.own else tuple(self.own)

    def defaults(self, options: Sequence[str]) -> dict[str, Any]:
        """The default values of the options."""
        return {name: self.__signature__.parameters[name].default for name in options}

    def compared(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The columns whose levels it compares with these options: an option ``between`` names others."""
        between = options.get("between", self.compares)
        return (between,) if isinstance(between, str) else tuple(between)

    def presentation_of(self, name: str) -> Presentation:
        """How estimates of a name are shown, its own or one that begins with it."""
        if name == self.name:
            return self.presentation
        part = self.parts.get(name.removeprefix(self.name), Presentation())
        return part.named(name, self.presentation.section)

    def __call__(
        self,
        annotations: Frame,
        *,
        labels: LabelSet | None = None,
        by: Sequence[str] = (),
        confidence_level: float = 0.95,
        resamples: int = 1000,
        seed: int = 0,
        columns: Columns | None = None,
        group: str | None = None,
        keep_draws: bool = False,
        estimand: Estimand | None = None,
        **options: Any,
    ) -> Estimates:
        """Estimate it in every cell of the data.

        Args:
            annotations: A frame with a row an annotation: the columns of ``annotation_frame`` that
                the measure needs, of one evaluator (or with ``"evaluator"`` in ``by``). A lazy one is read a
                column at a time; a `Gathered` keeps what other measures need too.
            labels: The label set; without it, the labels and gold labels that occur, as nominal ones.
            by: Columns whose combinations are the cells, each measured by itself.
            confidence_level: Nominal level of the intervals.
            resamples: Random draws, where a p value or an interval needs them; 0 for no interval.
            seed: Root seed of these.
            columns: Other names for the frame's columns, by role: ``{"label": "code"}``.
            group: The column whose groups of items are resampled, instead of items.
            keep_draws: Whether each estimate carries the values with each unit left out.
            estimand: What the intervals hold for: ``"fixed"``, these prompts; ``"population"``, the mean over
                prompts like these. Prompts are the levels of ``variant``, or of
                ``columns={"prompt": …}``. None: the measure's own.
            **options: The measure's own.

        Returns:
            An estimate for each cell, with a value or the reason why there is none.

        Raises:
            MeasureError: The frame or an option cannot be used.
        """
        # The function's own options, as it takes them
        names = [name for name in self.__signature__.parameters if name != "annotations"]
        for name in options:
            if name not in names:
                raise UnknownName("argument", name, names, where=self.name)
        arguments = self.defaults(self.options) | options
        if left := [name for name, value in arguments.items() if value is self.__signature__.empty]:
            raise MeasureError("an option is missing", where=left[0], expected=f"{self.name}(…, {left[0]}=…)")
        if self.missing and arguments["missing"] is not None:
            checked(arguments["missing"], self.missing)
        for name in options:
            if name in self.own:
                arguments[name] = fitted(self.function, name, options[name], MeasureError, "{1}")
        resampling = Resampling(confidence_level, resamples, seed)
        gathered = Gathered.of(annotations)
        wanted = self.estimands[0] if estimand is None else checked(estimand, self.estimands, "estimand")
        data = MeasureInput(
            self, gathered, labels, names_of(by), columns, group, resampling, keep_draws, wanted
        )
        taken = partial(self._estimates, own=arguments)
        if self.estimands == ("fixed",):
            return Estimates(taken(data))
        asked = estimand is not None
        return Estimates(over_prompts(taken, data, estimand=wanted, asked=asked, of_a_set=self.of_a_set))

    def _estimates(self, data: MeasureInput, own: Mapping[str, Any]) -> Iterator[Estimate]:
        if self.of_classes and data.labels is not None and data.labels.are_numbers:
            yield Estimate(self.name, None, reason="numbers are no classes", reference=self.source)
            return
        missing = own.get("missing")
        given = {name: value for name, value in own.items() if name in self.own}
        if "raters" not in self._cells:
            for estimate in self.function(data, **given):
                assert isinstance(estimate, Estimate), f"{self.name} yields what no cell has estimated"
                yield estimate
            return
        for cell in data.cells(**self._cells, missing=missing):
            for estimate in self.function(cell, **given):
                yield estimate if isinstance(estimate, Estimate) else cell.estimated(estimate)


def measure(**declared: Unpack[Declaration]) -> Callable[[Arithmetic], Measure]:
    """Declare a measure; the module's docstring says how."""
    if strange := declared.keys() - Declaration.__annotations__.keys():
        raise TypeError(f"a measure declares no {', '.join(sorted(strange))}")
    return partial(Measure, declared=declared)


@cache
def _beside(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """The entries of ``presentations.toml`` in a folder, by measure; empty without the file."""
    path = folder / "presentations.toml"
    return tomllib.loads(read_file(path).decode()) if path.is_file() else {}


def _presentation(declared: Mapping[str, Any]) -> Presentation:
    """The parts of a declaration that say how estimates are shown."""
    shown = {name: declared[name] for name in Presentation.__dataclass_fields__ if name in declared}
    return Presentation(**shown)


def registered(name: str, *, where: str | None = None) -> Measure:
    """The measure of a name, Quaver's own or another package's.

    Args:
        name: The registered name.
        where: Where the name is used, for the error.

    Raises:
        UnknownName: No measure of that name is registered.
        MeasureError: What is registered is no measure.
    """
    plugin = registry.load("measures", name, where=where)
    if not isinstance(plugin, Measure):
        raise MeasureError(
            f"{name!r} is registered as a measure and is none",
            where=where,
            expected="a function under @quaver.estimation.declaration.measure(…)",
            found=type(plugin).__name__,
        )
    return plugin
