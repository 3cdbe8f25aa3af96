"""promptstability's class on Quaver's arithmetic."""

import csv
import inspect
import math

import pandas as pd
import pytest

from quaver.agreement import krippendorff_alpha
from quaver.design.paraphrase.pegasus import Pegasus
from quaver.errors import ItemError, QuaverError, StoreError, UnknownName
from quaver.promptstability import PromptStabilityAnalysis, get_api_key, load_example_data

KA = ["ka_mean", "ka_lower", "ka_upper"]
TEXTS = [f"text {number}" for number in range(12)]
SURFACE = pytest.mark.filterwarnings("ignore:the paraphrases are small edits")


class Annotator:
    """Labels that depend on the text, and now and then on the prompt and the call."""

    def __init__(self):
        self.calls = []

    def __call__(self, text, prompt, temperature=0.1):
        self.calls.append((text, prompt))
        flips = (len(self.calls) * 7 + len(prompt)) % 11 == 0
        return str((int(text.split()[1]) + flips) % 2)


def analysis(**options):
    return PromptStabilityAnalysis(Annotator(), TEXTS, **options)


@pytest.mark.parametrize(
    ("method", "names"),
    [
        ("__init__", "annotation_function data metric_fn parse_function load_generation_models"),
        (
            "intra_pss",
            "original_text prompt_postfix iterations bootstrap_samples analysis_modes plot plot_mode "
            "save_path save_csv return_summaries summary_threshold estimate_tolerance precision_tolerance",
        ),
        ("score_intra_annotations", "annotated_df bootstrap_samples analysis_modes"),
        ("summarize_intra_scores", "score_map threshold estimate_tolerance precision_tolerance"),
        ("summarize_inter_scores", "score_map threshold"),
        (
            "inter_pss",
            "original_text prompt_postfix nr_variations temperatures iterations bootstrap_samples "
            "print_prompts plot save_path save_csv",
        ),
    ],
)
def test_arguments_are_promptstabilitys_in_its_order(method, names):
    parameters = inspect.signature(getattr(PromptStabilityAnalysis, method)).parameters.values()
    taken = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert taken == ["self", *names.split()]


def test_the_scores_of_repeats_and_their_frame(tmp_path):
    psa = analysis()
    scores, frame = psa.intra_pss("Is it odd?", "Answer 0 or 1.", 4, 200, save_csv=tmp_path / "intra.csv")
    assert list(scores) == [1, 2, 3]
    assert {prompt for _, prompt in psa.annotation_function.calls} == {"Is it odd? Answer 0 or 1."}
    named = ["id", "text", "annotation", "iteration", "run_count"]
    assert list(frame.columns)[:11] == [*named, *(f"cumulative_{name}" for name in KA), *KA]
    for iteration, score in scores.items():
        some = frame[frame["iteration"] <= iteration]
        alpha = krippendorff_alpha(
            some.pivot(index="id", columns="iteration", values="annotation"), resamples=0
        )
        assert score["Alpha"] == pytest.approx(alpha.value)
        assert score["CI Lower"] <= score["Average Alpha"] <= score["CI Upper"]
        assert score["Alpha Lower"] < score["Alpha"] < score["Alpha Upper"]
        (row,) = {*frame[frame["iteration"] == iteration]["ka_mean"]}
        assert row == score["Average Alpha"]
    assert frame[frame["iteration"] == 0]["ka_mean"].isna().all()
    read = pd.read_csv(tmp_path / "intra.csv")
    assert list(read.columns) == list(frame.columns)
    assert read["alpha"].to_numpy() == pytest.approx(frame["alpha"].to_numpy(), nan_ok=True)


def test_saved_annotations_are_scored_and_summed_up():
    _, saved = analysis().intra_pss("Is it odd?", "0 or 1.", 6, 10)
    psa = PromptStabilityAnalysis(None, [], load_generation_models=False)
    both = ["cumulative_alpha", "adjacent_alpha"]
    scores, frame = psa.score_intra_annotations(saved[["id", "annotation", "iteration"]], 100, both)
    assert [list(scores[mode]) for mode in both] == [[1, 2, 3, 4, 5]] * 2
    for place, score in scores["adjacent_alpha"].items():
        some = frame[frame["iteration"].isin([place - 1, place])]
        wide = some.pivot(index="id", columns="iteration", values="annotation")
        assert score["Alpha"] == pytest.approx(krippendorff_alpha(wide, resamples=0).value)
        assert set(frame[frame["iteration"] == place]["adjacent_reference_iteration"]) == {place - 1}
    answers = analysis().intra_pss("Is it odd?", "0 or 1.", 6, 10, both, return_summaries=True)
    assert list(answers[2]) == both
    assert answers[0].keys() == scores.keys()


def scores_of(*alphas, width=0.1):
    ends = [(alpha, alpha - width / 2, alpha + width / 2) for alpha in alphas]
    return {
        k: dict(zip(("Average Alpha", "CI Lower", "CI Upper"), row, strict=True))
        for k, row in enumerate(ends, 1)
    }


def test_summaries_by_hand():
    psa = PromptStabilityAnalysis(None, [])
    scores = {
        "cumulative_alpha": scores_of(0.7, 0.86, 0.85, 0.856),
        "adjacent_alpha": scores_of(0.7, 0.9, 0.8),
    }
    made = psa.summarize_intra_scores(scores, precision_tolerance=0.2)
    assert list(made["cumulative_alpha"].values()) == pytest.approx([0.856, 0.806, 0.906, 0.1, 3, 2, 0.156])
    assert list(made["adjacent_alpha"].values()) == pytest.approx([0.8, 0.1, 0.1, 0.7, 0.9, 1 / 3, 0.1])
    assert math.isnan(
        psa.summarize_intra_scores(scores)["cumulative_alpha"]["run_count_to_precision_stability"]
    )
    heat = psa.summarize_inter_scores({5.0: scores_of(0.5)[1], 0.1: scores_of(0.9)[1]})
    assert list(heat.values()) == pytest.approx([0.7, 0.4 / math.sqrt(2), 0.5, 5.0, 0.9, 0.4, 0.5])
    assert all(math.isnan(value) for value in psa.summarize_inter_scores({}).values())


@SURFACE
def test_the_scores_of_paraphrases_and_their_frame():
    psa = analysis()
    scores, frame = psa.inter_pss("Does this text have an odd number?", "0 or 1.", 3, [0.5, 2.0])
    assert list(scores) == [0.5, 2.0]
    named = ["id", "text", "annotation", "prompt_id", "prompt", "original", "temperature"]
    assert list(frame.columns)[:10] == [*named, *KA]
    prompts = frame.drop_duplicates(["temperature", "prompt_id"])
    assert len(prompts) == 8
    assert prompts["original"].tolist() == [True, False, False, False] * 2
    assert all(prompt.endswith(" 0 or 1.") for prompt in prompts["prompt"])
    assert prompts[~prompts["original"]]["prompt"].nunique() == 6
    for temperature, some in frame.groupby("temperature"):
        wide = some.pivot(index="id", columns="prompt_id", values="annotation")
        assert scores[temperature]["Alpha"] == pytest.approx(krippendorff_alpha(wide, resamples=0).value)


def test_small_edits_say_that_they_are_not_pegasus_paraphrases():
    with pytest.warns(UserWarning, match="PEGASUS"):
        analysis().inter_pss("Is this text odd, or is it not?", nr_variations=1, temperatures=[1.0])


def test_pegasus_is_sampled_at_promptstabilitys_temperatures(monkeypatch):
    drawn = []

    class Sampler:
        limit = 60

        def tokens(self, text):
            return len(text.split())

        def sample(self, texts, count, temperature, *_):
            drawn.append(temperature)
            return [[(f"{text} again {temperature} {n}.", True) for n in range(count)] for text in texts]

    monkeypatch.setattr(Pegasus, "_source", lambda self, context: Sampler())
    psa = analysis(paraphraser="pegasus")
    psa.inter_pss("Is it odd? Is it even?", "0 or 1.", nr_variations=2, temperatures=[0.5, 5.0])
    assert drawn == [0.5, 5.0]
    assert psa.paraphrases["prompt"].tolist()[4] == (
        "Is it odd? again 5.0 0. Is it even? again 5.0 0. 0 or 1."
    )


def test_a_call_that_failed_goes_on_where_it_stopped():
    asked = []

    def annotate(text, prompt):
        asked.append(text)
        if len(asked) == 20:
            raise TimeoutError
        return text[-1]

    psa = PromptStabilityAnalysis(annotate, TEXTS)
    with pytest.raises(TimeoutError):
        psa.intra_pss("Which?", iterations=2)
    _, frame = psa.intra_pss("Which?", iterations=2)
    assert len(asked) == 2 * len(TEXTS) + 1
    assert frame["annotation"].tolist() == [text[-1] for text in TEXTS] * 2


def test_labels_that_are_missing_do_not_count_and_a_score_that_is_undefined_says_why():
    psa = PromptStabilityAnalysis(
        lambda text, prompt: text, TEXTS, parse_function=lambda answer: None if "1" in answer else "same"
    )
    scores, frame = psa.intra_pss("Echo.", iterations=2)
    assert math.isnan(scores[1]["Alpha"])
    assert math.isnan(scores[1]["Average Alpha"])
    assert scores[1]["Note"] == "no variation"
    assert frame["annotation"].isna().sum() == 6


def test_an_interval_metric_as_simpledorff_has_it():
    numbers = [[1, 2], [5, 4], [3, 3], [2, 4]]
    frame = pd.DataFrame(
        [
            {"id": i, "iteration": r, "annotation": one}
            for i, row in enumerate(numbers)
            for r, one in enumerate(row)
        ]
    )
    metrics = ["interval", lambda a, b: (a - b) ** 2, "nominal"]
    named, function, other = (
        analysis(metric_fn=one).score_intra_annotations(frame, 300)[0]["cumulative_alpha"][1]
        for one in metrics
    )
    assert named == function
    assert named["Average Alpha"] != other["Average Alpha"]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_chart_is_written(tmp_path, ending):
    psa = analysis()
    psa.intra_pss("Odd?", iterations=3, plot=True, save_path=tmp_path / f"chart.{ending}")
    assert (tmp_path / f"chart.{ending}").stat().st_size > 1000
    assert psa.chart is not None


def test_a_formula_in_a_text_is_none_in_the_file(tmp_path):
    psa = PromptStabilityAnalysis(lambda text, prompt: text, ["=1+1", "plain"])
    psa.intra_pss("Echo.", iterations=2, save_csv=tmp_path / "f.csv")
    with (tmp_path / "f.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["text"] == "'=1+1"


@pytest.mark.parametrize(
    ("wrong", "error", "where"),
    [
        (lambda: PromptStabilityAnalysis(None, TEXTS).intra_pss("a"), QuaverError, "annotation_function"),
        (lambda: PromptStabilityAnalysis(Annotator(), []), ItemError, "data"),
        (lambda: PromptStabilityAnalysis(7, TEXTS), QuaverError, "annotation_function"),
        (lambda: analysis().intra_pss("a", analysis_modes=["alpha"]), UnknownName, "analysis_modes"),
        (lambda: analysis().intra_pss("a", plot=True, plot_mode="adjacent_alpha"), UnknownName, "plot_mode"),
        (lambda: analysis(metric_fn="nominl"), QuaverError, "metric_fn"),
        (lambda: analysis(paraphraser="pegasos"), QuaverError, "paraphraser"),
        (lambda: analysis().intra_pss("a", iterations=0), QuaverError, "iterations"),
        (lambda: analysis().intra_pss("a", save_csv="/no/such/a.csv"), StoreError, "/no/such/a.csv"),
        (lambda: analysis().inter_pss("word", None, 900, [0.1]), QuaverError, "nr_variations"),
        (lambda: analysis().inter_pss("a", temperatures=[0]), QuaverError, "temperatures"),
        (lambda: get_api_key("opnai"), UnknownName, "get_api_key"),
    ],
)
@SURFACE
def test_what_is_wrong_is_named_before_anything_is_asked(wrong, error, where):
    with pytest.raises(error) as caught:
        wrong()
    assert caught.value.where == where


def test_the_example_data_have_promptstabilitys_columns():
    frame = load_example_data()
    assert list(frame.columns) == ["id", "body", "code", "txtlength"]
    assert set(frame["code"]) == {0, 1}
    assert len(set(frame["body"])) == 100
