"""The newest promptstability from the registry beside Quaver's: its README's steps, and the same numbers.

``make test-promptstability`` installs it into a folder of its own; without it these tests are skipped.
"""

import importlib.metadata
import re
import sys
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest

import quaver.promptstability as ours
from quaver.promptstability import PromptStabilityAnalysis

theirs = pytest.importorskip("promptstability.core", reason="make test-promptstability installs it")
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]

MODES = ["cumulative_alpha", "adjacent_alpha"]
PROMPT = ("Here is some news about the economy.", "Answer 0 or 1.")


def readme():
    """The code of the newest README, a step each."""
    text = importlib.metadata.metadata("promptstability").get_payload()
    assert isinstance(text, str)
    code = re.findall(r"```\s*python\n(.*?)```", text, re.DOTALL)
    assert code
    return [step for block in code for step in re.split(r"\n\n(?=#)", block) if step.strip()]


class Completions:
    """An annotator in place of OpenAI's and Ollama's servers."""

    def __init__(self):
        self.calls = 0

    def answer(self, text, prompt):
        self.calls += 1
        return str((len(text) + (self.calls * 7 + len(prompt)) % 11 // 10) % 2)

    def create(self, *, messages, **_):
        said = self.answer(messages[1]["content"], messages[0]["content"])
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content=said))])

    def chat(self, *, messages, **_):
        return {"message": {"content": self.answer(messages[1]["content"], messages[0]["content"])}}


@pytest.fixture
def services(monkeypatch):
    """The modules that the README imports: servers that answer at once, and Quaver in the package's place."""
    served = Completions()
    client = SimpleNamespace(chat=SimpleNamespace(completions=served))
    modules = {
        "openai": {"OpenAI": lambda **_: client},
        "ollama": {"chat": served.chat},
        "promptstability": vars(ours) | {name: getattr(ours, name) for name in ours.__all__},
        "promptstability.core": {name: getattr(ours, name) for name in ours.__all__},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update({key: value for key, value in content.items() if not key.startswith("__")})
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


@pytest.mark.usefixtures("services")
def test_every_step_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scope = {}
    steps = readme()
    assert len(steps) >= 8
    for step in steps:
        exec(step, scope)
    for name in ("news_intra.png", "news_intra.csv", "news_inter.png", "news_inter.csv"):
        assert (tmp_path / name).stat().st_size > 1000
    assert set(scope["score_map"]) == set(scope["intra_summaries"]) == set(MODES)


def rephrased(text, count, temperature):
    return [f"{text} In other words {number}, {temperature:g}." for number in range(count)]


@pytest.fixture(scope="module")
def both():
    """Both packages, asked the same about the package's own example data."""
    texts = list(theirs.load_example_data()["body"])

    class Package(theirs.PromptStabilityAnalysis):
        """The package, with phrases in place of PEGASUS's."""

        def _PromptStabilityAnalysis__paraphrase_sentence(  # noqa: N802
            self, input_text, num_return_sequences=10, num_beams=50, temperature=1.0
        ):
            return rephrased(input_text, num_return_sequences, temperature)

    def annotator():
        served = Completions()
        return lambda text, prompt: int(served.answer(text, prompt))

    return {
        "theirs": Package(annotator(), texts, load_generation_models=False),
        "ours": PromptStabilityAnalysis(
            annotator(), texts, paraphraser=rephrased, load_generation_models=False
        ),
    }


def close(quaver, package):
    """The same places, and scores that differ by no more than two draws of 150 resamples do."""
    assert list(quaver) == list(package)
    for place, score in package.items():
        for name, value in score.items():
            off = 0.03 if name == "Average Alpha" else 0.1  # four standard errors of a difference
            assert quaver[place][name] == pytest.approx(value, abs=off), (place, name)


def test_scores_of_repeats_are_the_packages(both):
    asked = {"iterations": 3, "bootstrap_samples": 150, "analysis_modes": MODES, "return_summaries": True}
    package, quaver = (both[name].intra_pss(*PROMPT, **asked) for name in ("theirs", "ours"))
    for mode in MODES:
        close(quaver[0][mode], package[0][mode])
    assert set(package[1].columns) <= set(quaver[1].columns)
    same = ["id", "text", "annotation", "iteration", "run_count", "adjacent_reference_iteration"]
    pd.testing.assert_frame_equal(quaver[1][same], package[1][same], check_dtype=False)
    assert {mode: list(values) for mode, values in quaver[2].items()} == {
        mode: list(values) for mode, values in package[2].items()
    }


def test_summaries_are_the_packages_to_the_last_digit(both):
    scores, _ = both["theirs"].intra_pss(*PROMPT, 5, 20, MODES)
    for tolerances in ({}, {"threshold": 0.9, "estimate_tolerance": 0.002, "precision_tolerance": 0.06}):
        summaries = (both[name].summarize_intra_scores(scores, **tolerances) for name in ("ours", "theirs"))
        for quaver, package in zip(*(one.values() for one in summaries), strict=True):
            assert quaver == pytest.approx(package, abs=1e-12, nan_ok=True)


def test_scores_of_paraphrases_are_the_packages(both):
    asked = {"nr_variations": 3, "temperatures": [0.5, 2.0], "bootstrap_samples": 150}
    (theirs, frame), (quaver, own) = (both[name].inter_pss(*PROMPT, **asked) for name in ("theirs", "ours"))
    close(quaver, theirs)
    assert set(frame.columns) <= set(own.columns)
    keys = ["temperature", "prompt_id", "id"]
    ordered = [one.sort_values(keys)[[*keys, "prompt"]].reset_index(drop=True) for one in (own, frame)]
    pd.testing.assert_frame_equal(*ordered, check_dtype=False)
    assert both["ours"].summarize_inter_scores(theirs) == pytest.approx(
        both["theirs"].summarize_inter_scores(theirs), abs=1e-12
    )
