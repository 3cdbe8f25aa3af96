"""promptstability's class: prompts are asked repeatedly and reworded, and the labels' agreement is scored."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from warnings import warn

from quaver.errors import ItemError, QuaverError, UnknownName
from quaver.promptstability.rewording import SURFACE_WARNING, Rewords, checked_paraphraser, paraphrases
from quaver.promptstability.stability_scores import (
    COLUMNS,
    MODES,
    Metric,
    Score,
    check_columns,
    check_path,
    inter_scores,
    intra_scores,
    level_of,
    pandas,
    pandas_frame,
    stability_chart,
    summaries_of_repeats,
    summary_of_temperatures,
    write_rows,
)

_LOG = logging.getLogger("quaver.promptstability")

Call = tuple[str, str]
"""A text and a prompt."""


class PromptStabilityAnalysis:
    """Prompt stability scores of an annotation function, with promptstability's arguments and results.

    Each score has promptstability's numbers (``Average Alpha``, ``CI Lower``, ``CI Upper``), which resample
    single rows and are too narrow, and Quaver's: ``Alpha``, Krippendorff's alpha itself, with ``Alpha Lower``
    and ``Alpha Upper``, an interval that resamples items and, between prompts, holds for prompts like these;
    ``Note`` has what a reader must know.

    Args:
        annotation_function: Called as ``annotation_function(text, prompt)``; returns the annotation. None
            where saved annotations alone are scored.
        data: The texts.
        metric_fn: The level of measurement: ``"nominal"``, ``"ordinal"``, ``"interval"``, ``"ratio"``, or a
            function with one of their distances, such as simpledorff's.
        parse_function: Makes a label of what the function returned; None or NaN is no label.
        load_generation_models: As in promptstability; here a model is loaded when it first paraphrases.
        paraphraser: Who rewords the prompt: ``"surface"`` (small edits, without a model), ``"pegasus"`` (as
            in promptstability; needs ``quaver[pegasus]`` and downloads its weights once), or a function
            ``reword(text, count, temperature)`` that returns the texts.
        concurrency: How many calls are made at a time, in threads.
        seed: Where paraphrases and resamples start.

    Attributes:
        paraphrases: The prompts of the last ``inter_pss``, as a frame.
        chart: The last chart, an Altair object.

    Raises:
        QuaverError: An argument cannot be used.
        Unavailable: pandas is not installed.
    """

    def __init__(
        self,
        annotation_function: Callable[..., Any] | None,
        data: Iterable[str],
        metric_fn: Metric = "nominal",
        parse_function: Callable[[Any], Any] | None = None,
        load_generation_models: bool = True,
        *,
        paraphraser: Rewords = "surface",
        concurrency: int = 1,
        seed: int = 0,
    ) -> None:
        pandas()
        self.annotation_function = annotation_function
        self.data = [data] if isinstance(data, str) else list(data)
        if annotation_function is not None:
            self._check_asking()
        self.load_generation_models = load_generation_models
        self.metric_fn = metric_fn
        self.parse_function = parse_function or (lambda answer: answer)
        self.paraphrases: Any = None
        self.chart: Any = None
        self._level = level_of(metric_fn)
        self._paraphraser = checked_paraphraser(paraphraser)
        self._concurrency, self._seed = max(1, concurrency), seed
        self._unfinished: dict[tuple[Call, ...], list[Any]] = {}

    def intra_pss(
        self,
        original_text: str,
        prompt_postfix: str | None = None,
        iterations: int = 10,
        bootstrap_samples: int = 1000,
        analysis_modes: Sequence[str] | None = None,
        plot: bool = False,
        plot_mode: str = "cumulative_alpha",
        save_path: str | Path | None = None,
        save_csv: str | Path | None = None,
        return_summaries: bool = False,
        summary_threshold: float = 0.8,
        estimate_tolerance: float = 0.01,
        precision_tolerance: float = 0.02,
    ) -> tuple[Any, ...]:
        """Ask the same prompt repeatedly, and score the repeats.

        If the annotation function raises, what it has annotated is kept: the same call goes on from there.

        Args:
            original_text: The prompt.
            prompt_postfix: What follows it.
            iterations: How often each text is annotated.
            bootstrap_samples: Resamples of rows.
            analysis_modes: ``cumulative_alpha`` (the first k repeats, the default), ``adjacent_alpha`` (each
                repeat with the one before), or both.
            plot: Whether to draw the scores.
            plot_mode: The mode that is drawn.
            save_path: Where the chart is written, as ``.png``, ``.svg``, ``.pdf`` or ``.html``.
            save_csv: Where the annotations are written.
            return_summaries: Whether to return the summaries, too.
            summary_threshold: See `summarize_intra_scores`, as the next two.
            estimate_tolerance: How near to the last score a score has settled.
            precision_tolerance: How wide an interval may be that is precise.

        Returns:
            The scores by the last repeat (from 1), or of several modes by mode; the pandas frame of
            `score_intra_annotations`; and the summaries, if asked for.

        Raises:
            QuaverError: An argument cannot be used, or a file cannot be written.
        """
        _check_count("iterations", iterations)
        modes = _checked_modes(analysis_modes or ("cumulative_alpha",))
        if plot and plot_mode not in modes:
            raise UnknownName("mode", plot_mode, modes, where="plot_mode")
        for path in (save_path, save_csv):
            check_path(path)
        prompt = _joined(original_text, prompt_postfix)
        places = [(k, i) for i in range(iterations) for k in range(len(self.data))]
        labels = self._annotated([(self.data[k], prompt) for k, _ in places])
        rows = [
            {"id": k, "text": self.data[k], "annotation": label, "iteration": i}
            for (k, i), label in zip(places, labels, strict=True)
        ]
        scores, frame = self.score_intra_annotations(pandas_frame(rows), bootstrap_samples, modes)
        self._written(frame, scores.get(plot_mode, {}), "Iteration", plot, save_path, save_csv)
        returned = scores[modes[0]] if len(modes) == 1 else scores
        if not return_summaries:
            return returned, frame
        tolerances = (summary_threshold, estimate_tolerance, precision_tolerance)
        return returned, frame, self.summarize_intra_scores(scores, *tolerances)

    def score_intra_annotations(
        self, annotated_df: Any, bootstrap_samples: int = 1000, analysis_modes: Sequence[str] | None = None
    ) -> tuple[dict[str, dict[int, Score]], Any]:
        """Score saved annotations of repeats; nothing is asked.

        Args:
            annotated_df: A pandas frame with ``id``, ``annotation`` and ``iteration``.
            bootstrap_samples: Resamples of rows.
            analysis_modes: As in `intra_pss`.

        Returns:
            The scores by mode and repeat; and the frame with ``run_count``, and for each mode
            ``cumulative_ka_mean`` (``…_lower``, ``…_upper``) and ``adjacent_ka_mean`` …; for the cumulative
            ones also ``ka_mean`` … and Quaver's ``alpha``, ``alpha_lower`` and ``alpha_upper``.

        Raises:
            UnknownName: The frame lacks a column, or a mode is unknown.
        """
        modes = _checked_modes(analysis_modes or ("cumulative_alpha",))
        check_columns(annotated_df, ("id", "annotation", "iteration"), "score_intra_annotations")
        frame = annotated_df.assign(iteration=pandas().to_numeric(annotated_df["iteration"], errors="coerce"))
        frame = frame.dropna(subset=["iteration"]).astype({"iteration": int})
        frame["run_count"] = frame["iteration"] + 1
        rows = frame[["id", "annotation", "iteration"]].to_dict("records")
        scores = {
            mode: intra_scores(rows, self._level, bootstrap_samples, self._seed, mode) for mode in modes
        }
        for mode, by_repeat in scores.items():
            start = mode.removesuffix("alpha") + "ka"
            if mode == "adjacent_alpha":
                places = sorted(frame["iteration"].unique())
                before = dict(zip(places[1:], places, strict=False))
                frame["adjacent_reference_iteration"] = frame["iteration"].map(before)
            columns = {f"{start}_{end}": COLUMNS[f"ka_{end}"] for end in ("mean", "lower", "upper")}
            _placed(frame, by_repeat, columns | dict(COLUMNS if mode == "cumulative_alpha" else {}))
        return scores, frame

    def summarize_intra_scores(
        self,
        score_map: Mapping[str, Mapping[int, Score]],
        threshold: float = 0.8,
        estimate_tolerance: float = 0.01,
        precision_tolerance: float = 0.02,
    ) -> dict[str, dict[str, float]]:
        """The scores of each mode in a few numbers: the final one, when it settles, how neighbours agree."""
        return summaries_of_repeats(score_map, threshold, estimate_tolerance, precision_tolerance)

    def summarize_inter_scores(
        self, score_map: Mapping[float, Score], threshold: float = 0.8
    ) -> dict[str, float]:
        """The scores over temperatures in a few numbers: mean, SD, the lowest and where it is."""
        return summary_of_temperatures(score_map, threshold)

    def inter_pss(
        self,
        original_text: str,
        prompt_postfix: str | None = None,
        nr_variations: int = 5,
        temperatures: Sequence[float] = (0.1, 2.5, 5.0),
        iterations: int = 1,
        bootstrap_samples: int = 1000,
        print_prompts: bool = False,
        plot: bool = False,
        save_path: str | Path | None = None,
        save_csv: str | Path | None = None,
    ) -> tuple[dict[float, Score], Any]:
        """Ask paraphrases of a prompt, and score their agreement at each temperature.

        Args:
            original_text: The prompt, which is reworded.
            prompt_postfix: What follows it, which is not.
            nr_variations: How many paraphrases at each temperature, beside the original.
            temperatures: The higher, the further paraphrases are from the original.
            iterations: How often each prompt is asked. Quaver's alpha is the mean over these.
            bootstrap_samples: Resamples of rows.
            print_prompts: Whether to print the prompts.
            plot: Whether to draw the scores.
            save_path: Where the chart is written.
            save_csv: Where the annotations are written.

        Returns:
            The scores by temperature; and a pandas frame with ``id``, ``text``, ``annotation``,
            ``prompt_id``, ``prompt``, ``original``, ``temperature``, the columns of scores of `intra_pss`,
            and ``iteration``.

        Raises:
            QuaverError: An argument cannot be used, or a file cannot be written.

        Warns:
            UserWarning: The paraphrases are small edits (the default).
        """
        _check_count("iterations", iterations)
        _check_count("nr_variations", nr_variations)
        for path in (save_path, save_csv):
            check_path(path)
        if self._paraphraser == "surface":
            warn(SURFACE_WARNING, stacklevel=2)
        prompts = [
            {"prompt_id": number, "prompt": prompt, "original": number == 0, "temperature": temperature}
            for temperature in dict.fromkeys(temperatures)
            for number, prompt in enumerate(
                self._prompts(original_text, prompt_postfix, nr_variations, temperature)
            )
        ]
        self.paraphrases = pandas_frame(prompts)
        if print_prompts:
            unique = dict.fromkeys(str(prompt["prompt"]) for prompt in prompts)
            sys.stdout.write("\n".join(["Unique prompts:", *unique, ""]))
        return self._compared(prompts, iterations, bootstrap_samples, plot, save_path, save_csv)

    # ---------------------------------------------------------------------- its steps

    def _prompts(self, text: str, postfix: str | None, count: int, temperature: float) -> list[str]:
        """The original and its paraphrases, each with the postfix."""
        made = paraphrases(text, postfix or "", count, temperature, self._paraphraser, self._seed)
        return [_joined(text_of_prompt, postfix) for text_of_prompt in (text, *made)]

    def _compared(
        self,
        prompts: Sequence[dict[str, Any]],
        iterations: int,
        samples: int,
        plot: bool,
        save_path: str | Path | None,
        save_csv: str | Path | None,
    ) -> tuple[dict[float, Score], Any]:
        """Annotate with each prompt, and score each temperature."""
        places = [
            (k, prompt, i) for i in range(iterations) for prompt in prompts for k in range(len(self.data))
        ]
        labels = self._annotated([(self.data[k], prompt["prompt"]) for k, prompt, _ in places])
        rows = [
            {"id": k, "text": self.data[k], "annotation": label, **prompt, "iteration": i}
            for (k, prompt, i), label in zip(places, labels, strict=True)
        ]
        scores = inter_scores(rows, self._level, samples, self._seed)
        frame = pandas_frame(rows)
        _placed(frame, scores, COLUMNS, "temperature")
        frame["iteration"] = frame.pop("iteration")  # promptstability has none: it comes last
        self._written(frame, scores, "Temperature", plot, save_path, save_csv)
        return scores, frame

    def _annotated(self, calls: Sequence[Call]) -> list[Any]:
        """The annotation of each call; what an exception leaves unfinished goes on where it stopped."""
        self._check_asking()
        done = self._unfinished.setdefault(tuple(calls), [])
        left = calls[len(done) :]
        with ThreadPoolExecutor(self._concurrency) as pool:
            labels = (
                pool.map(self._annotation, left) if self._concurrency > 1 else map(self._annotation, left)
            )
            try:
                for label in labels:
                    done.append(label)
                    if len(done) % max(1, len(self.data)) == 0:
                        _LOG.info("%s of %s annotations", f"{len(done):,}", f"{len(calls):,}")
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return self._unfinished.pop(tuple(calls))

    def _annotation(self, call: Call) -> Any:
        assert self.annotation_function is not None
        return self.parse_function(self.annotation_function(*call))

    def _check_asking(self) -> None:
        """Check that there is something to ask, and texts to ask about."""
        if not callable(self.annotation_function) or inspect.iscoroutinefunction(self.annotation_function):
            raise QuaverError(
                "this is not an annotation function",
                where="annotation_function",
                expected="a function annotate(text, prompt) that is not async",
                found=repr(self.annotation_function)[:120],
            )
        if not self.data:
            raise ItemError("there are no texts", where="data", expected="one or more", found="none")

    def _written(
        self,
        frame: Any,
        scores: dict[Any, Score],
        axis: str,
        plot: bool,
        save_path: str | Path | None,
        save_csv: str | Path | None,
    ) -> None:
        """What was asked to be written and shown."""
        if save_csv is not None:
            write_rows(frame, save_csv)
        if plot:
            self.chart = stability_chart(scores, axis, save_path)


def _placed(
    frame: Any, scores: Mapping[Any, Score], columns: Mapping[str, str], by: str = "iteration"
) -> None:
    """Write the score of each row's place beside it."""
    for name, key in columns.items():
        frame[name] = frame[by].map({place: score[key] for place, score in scores.items()})


def _checked_modes(modes: Sequence[str]) -> Sequence[str]:
    for mode in modes:
        if mode not in MODES:
            raise UnknownName("mode", mode, MODES, where="analysis_modes")
    return modes


def _joined(text: str, postfix: str | None) -> str:
    return f"{text} {postfix}" if postfix else text


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise QuaverError("not a number of them", where=name, expected="1 or more", found=repr(value))
