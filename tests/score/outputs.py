"""The outputs in the two data files, and what each evaluator is to read in them."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from ruamel.yaml import YAML

from quaver.core.calls import Response

TEXT_EVALUATORS = (
    *("answer_markers", "exact", "final_line", "first_character", "first_label", "json_field"),
    *("label_match", "label_scores", "marked_label"),
)
OPTIONS = {"final_line": {"marked": True}}
"""The options with which the files' readings are read."""
_SEARCH = ("first_label", "label_match", "answer_markers", "marked_label")
_SHORT = {"all": TEXT_EVALUATORS, "search": _SEARCH, "whole": (*_SEARCH, "exact")}
_ABOUT = {"task", "text", "times", "then", "finish", "marks"}


class Output(NamedTuple):
    task: str
    response: Response
    marks: frozenset[str]
    readings: dict[str, str]

    def __str__(self):
        return f"{self.task}: {self.response.text[:40]!r}"


@cache
def outputs(name):
    path = Path(__file__).with_name(f"outputs.{name}.yaml")
    return [_output(entry) for entry in YAML(typ="safe", pure=True).load(path)]


def _output(entry):
    readings = dict.fromkeys(TEXT_EVALUATORS, "no_label")
    for reading, evaluators in entry.items():
        if reading not in _ABOUT:
            named = [one for word in evaluators.split() for one in _SHORT.get(word, (word,))]
            readings.update(dict.fromkeys(named, reading))
    text = entry["text"] * entry.get("times", 1) + entry.get("then", "")
    response = Response(text, entry.get("finish", "stop"))
    return Output(entry["task"], response, frozenset(entry.get("marks", "").split()), readings)
