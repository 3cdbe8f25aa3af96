"""The answers of a study of ``view_studies.py`` as a log of inspect-ai, for ``view_beside_inspect.py``.

    python benchmarks/inspect_log.py STUDY_FOLDER OUT.eval      # with a Python that has inspect-ai

A sample is an item under one prompt, an epoch is a repeat; it has the item's text, the prompt that was sent,
the answer, its tokens, and a score with the label. A log of inspect's own runs also holds events, so this
is the smallest log of these answers. Inspect's types make the header and the pattern of a sample. The samples
are written here, because inspect's writer compares each with all before it.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LABELS = ("positive", "negative", "neutral")
_ANSWERS = """SELECT i.id, c.variant, a.repeat, p.messages, r.text, r.prompt_tokens, r.completion_tokens
    FROM calls a JOIN responses r ON r.id = a.response JOIN prompts p ON p.id = r.prompt
    JOIN conditions c ON c.position = a.condition JOIN items i ON i.position = a.item
    ORDER BY a.response"""
_WHEN = "2026-01-01T00:00:00+00:00"


def answers(folder: Path) -> Iterator[tuple[Any, ...]]:
    """Item, prompt variant, repeat, prompt, answer and both numbers of tokens, a row an answer."""
    with (folder / "items.csv").open(encoding="utf-8", newline="") as file:
        texts = {row["id"]: row["text"] for row in csv.DictReader(file)}
    with sqlite3.connect(f"file:{folder / 'responses.db'}?mode=ro", uri=True) as store:
        for item, variant, repeat, messages, *rest in store.execute(_ANSWERS):
            yield item, variant, repeat, f"{texts[item]}\n\n{json.loads(messages)[-1][1]}", *rest


def header(samples: int) -> Any:
    """A log without its samples."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSpec, EvalStats

    dataset = EvalDataset(name="answers", samples=samples, shuffled=False)
    spec = EvalSpec(
        created=_WHEN, task="answers", task_id="answers", run_id="run", eval_id="eval",
        dataset=dataset, model="mockllm/fake", config=EvalConfig(),
    )  # fmt: skip
    results = EvalResults(total_samples=samples, completed_samples=samples)
    return EvalLog(eval=spec, status="success", results=results, stats=EvalStats())


def patterns() -> tuple[dict[str, Any], dict[str, Any]]:
    """A sample and its line in the list of samples, as inspect writes them."""
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

    output = ModelOutput.from_content("mockllm/fake", "answer")
    usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    output.usage = usage
    sample = EvalSample(
        id="id", epoch=1, input="prompt", target="", output=output, model_usage={"mockllm/fake": usage},
        messages=[ChatMessageUser(content="prompt"), ChatMessageAssistant(content="answer")],
        scores={"label": Score(value="", answer="")}, started_at=_WHEN, completed_at=_WHEN,
    )  # fmt: skip
    line = sample.summary()
    line.completed = True
    return tuple(one.model_dump(mode="json", exclude_none=True) for one in (sample, line))  # type: ignore[return-value]


def filled(sample: dict[str, Any], line: dict[str, Any], answer: tuple[Any, ...]) -> str:
    """Put an answer into both patterns; the name of the sample's member."""
    from inspect_ai.log._util import truncate_text

    item, variant, repeat, prompt, text, asked, said = answer
    label = next((label for label in LABELS if label in text), "")
    for one in (sample, line):
        one["id"], one["epoch"] = _name(item, variant), repeat + 1
        one["scores"]["label"] |= {"value": label, "answer": label}
        one["model_usage"]["mockllm/fake"] |= {
            "input_tokens": asked, "output_tokens": said, "total_tokens": asked + said
        }  # fmt: skip
    line["input"] = truncate_text(prompt)
    sample["input"] = sample["messages"][0]["content"] = prompt
    sample["messages"][1]["content"] = sample["output"]["choices"][0]["message"]["content"] = text
    sample["output"]["completion"] = text
    return f"samples/{sample['id']}_epoch_{sample['epoch']}.json"


def _name(item: str, variant: str) -> str:
    return f"{item}-{variant}"


def write(folder: Path, out: Path) -> int:
    """Write the log; how many samples it has."""
    from inspect_ai._util.zipfile import zipfile_compress_kwargs

    sample, line = patterns()
    samples, part = 0, out.with_suffix(".part")
    with zipfile.ZipFile(part, "w", **zipfile_compress_kwargs) as log, tempfile.TemporaryFile("w+b") as lines:
        for answer in answers(folder):
            name = filled(sample, line, answer)
            log.writestr(name, json.dumps(sample), zipfile.ZIP_DEFLATED, 1)
            lines.write((b",\n" if samples else b"[") + json.dumps(line).encode())
            samples += 1
        lines.write(b"]")
        lines.seek(0)
        with log.open("summaries.json", "w", force_zip64=True) as member:
            while piece := lines.read(1 << 20):
                member.write(piece)
        whole = header(samples)
        start = {"version": whole.version, "eval": whole.eval.model_dump(mode="json"), "plan": {}}
        log.writestr("_journal/start.json", json.dumps(start))
        log.writestr("header.json", whole.model_dump_json(exclude_none=True))
    part.rename(out)
    return samples


def main() -> None:
    """Write one log, and let inspect read its header and a sample of it."""
    from inspect_ai.log import read_eval_log, read_eval_log_sample

    folder, out = map(Path, sys.argv[1:])
    samples = write(folder, out)
    assert read_eval_log(str(out), header_only=True).results.total_samples == samples
    first = next(answers(folder))
    assert read_eval_log_sample(str(out), _name(first[0], first[1]), 1).output.completion == first[4]
    print(f"{samples:,} samples, {out.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
