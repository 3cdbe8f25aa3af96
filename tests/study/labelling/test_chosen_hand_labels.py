"""Hand labels of texts that were chosen: what they say nothing about needs a person in the labelled table."""

import csv
import random
from hashlib import blake2b

import polars as pl
from tests.studies import checked

import quaver

LABELS = ["favor", "against", "none"]


def model(text, prompt):
    """Right about short texts, wrong about two in five of the long ones."""
    _, truth, *words = text.split()
    is_wrong = len(words) > 18 and blake2b(text.encode()).digest()[0] % 5 < 2
    return LABELS[(LABELS.index(truth) + is_wrong) % 3]


def test_texts_unlike_those_labelled_by_hand_need_a_person(tmp_path):
    draw = random.Random(3)
    rows = [[number, f"t{number} {draw.choice(LABELS)}", draw.randint(5, 38)] for number in range(300)]
    rows = [[number, f"{text} {'word ' * words}".strip()] for number, text, words in rows]
    short = [number for number, text in rows if len(text.split()) <= 20]
    hand = set(draw.sample(short, 80))
    path = tmp_path / "posts.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "post", "stance"])
        writer.writerows([*row, row[1].split()[1] if row[0] in hand else ""] for row in rows)
    check = checked(path, text="post", gold="stance", labels=LABELS, model=model, prompts=4)
    assert check.study.verdict().recommendations[0].reason == "chosen texts"
    labels = quaver.label(path, check=check.study.folder, model=model, out=tmp_path / "out.csv").table
    truth = {str(number): text.split()[1] for number, text in rows}
    labels = labels.with_columns(truth=pl.col("item").cast(pl.String).replace_strict(truth))
    wrong = labels.filter(pl.col("label") != pl.col("truth"))
    assert wrong.height > 20
    assert wrong["needs_person"].str.contains("not vouched for").all()
    assert labels["needs_person"].null_count() > 100
