"""A study whose prompts agree on most items and are split on some, with stored answers and no model."""

import csv

import numpy as np

from quaver import Study

STUDY = """\
task:
  labels: [left, right]
annotations:
  source: labels.csv
  item: id
  text: text
  label: label
  variant: [prompt]
  groups: [party]
"""
GOLD = "  gold: truth\n"

TRUTH = {0: "left", 1: "right"}


def labelled_study(folder, items=200, prompts=5, *, seed=1, gold=0):
    """A study of labels that exist already: items ``t000`` and so on, a fifth of them hard.

    The first ``gold`` items come with their true label.
    """
    truth = truths(items)
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "party", "prompt", "label", "truth"])
        for at, item in enumerate(truth):
            known = truth[item] if at < gold else ""
            for prompt in range(prompts):
                right = rng.random() < (0.6 if at % 5 == 0 else 0.97)
                label = truth[item] if right else {"left": "right", "right": "left"}[truth[item]]
                writer.writerow([item, f"Text {at}, a speech.", "DR"[at % 2], f"p{prompt}", label, known])
    (folder / "study.yaml").write_text(STUDY + (GOLD if gold else ""), encoding="utf-8")
    return Study.open(folder / "study.yaml")


def truths(items=200):
    """The true label of each item."""
    return {f"t{at:03}": TRUTH[at * 7 % 3 % 2] for at in range(items)}


def filled(path, answers):
    """A coder's CSV sheet, filled in: each item's answer in its row."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["label"] = answers.get(row["item"], "")
    return write_rows(path, rows)


def write_rows(path, rows):
    """A CSV file of rows."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_rows(path):
    """The rows of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
