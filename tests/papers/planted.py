"""Annotators with known behaviour: their answers as arrays, from which tests work every cell out again."""

from hashlib import blake2b

import numpy as np
import polars as pl

from quaver import Study
from quaver.core.seeds import derive
from quaver.papers import table


def chance(*parts):
    """A number from 0 to 1 that these parts decide."""
    digest = blake2b("|".join(map(str, parts)).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") / 2**32


def noisy(name, *, wrong=0.15, silent=0.05, harder=""):
    """Right but for a share of the answers, twice it where a word is in the prompt; and silent in some.

    A text ends with its true label, and an item asked again is another draw.
    """
    asked = {}

    def annotate(text, prompt):
        asked[text, prompt] = time = asked.get((text, prompt), 0) + 1
        right = text.split()[-1]
        draw = chance(name, text, prompt, time)
        limit = wrong * (2 if harder and harder in prompt else 1)
        if draw < limit:
            return {"left": "right", "right": "left"}[right]
        return "I cannot say." if draw < limit + silent else right

    return annotate


def items(folder, count=24):
    """Texts about two sides."""
    rows = [
        f"{at},text {at} is {['right', 'left'][at % 2]},{['right', 'left'][at % 2]}" for at in range(count)
    ]
    (folder / "items.csv").write_text("id,text,gold\n" + "\n".join(rows) + "\n", encoding="utf-8")


def asked(path, text, **models):
    """A study, run."""
    path.write_text(text, encoding="utf-8")
    study = Study.open(path, functions=models)
    study.run()
    return study


def alpha(ratings):
    """Nominal alpha of items × raters, pair by pair; -1 is a missing rating."""
    codes = np.unique(ratings[ratings >= 0])
    pairs = np.zeros((codes.size, codes.size))
    for row in ratings:
        known = row[row >= 0]
        if known.size < 2:
            continue
        counts = np.array([(known == code).sum() for code in codes], float)
        pairs += (np.outer(counts, counts) - np.diag(counts)) / (known.size - 1)
    n = pairs.sum()
    observed = n - np.trace(pairs)
    margin = pairs.sum(0)
    expected = (n**2 - (margin**2).sum()) / (n - 1)
    return float(1 - observed / expected)


def alphas(counts):
    """Nominal alpha of many tables of counts at once, shape (tables, items, labels)."""
    paired = counts * (counts.sum(-1, keepdims=True) >= 2)
    ratings, margin = paired.sum(-1), paired.sum(-2)
    n = margin.sum(-1)
    agreeing = ((paired * (paired - 1)).sum(-1) / np.maximum(ratings - 1, 1)).sum(-1) / n
    by_chance = (margin * (margin - 1)).sum(-1) / (n * (n - 1))
    return 1 - (1 - agreeing) / (1 - by_chance)


def by_rows(ratings, seed, resamples=1000):
    """The interval of promptstability: see `rows_drawn`."""
    low, high = np.percentile(rows_drawn(ratings, seed, resamples), [2.5, 97.5])
    return float(low), float(high)


def rows_drawn(ratings, seed, resamples=1000):
    """Alphas of labels drawn with replacement; one that is drawn twice counts once."""
    drawn = np.random.default_rng(derive(seed, "bootstrap", "row")).integers(
        0, ratings.size, (resamples, ratings.size)
    )
    there = np.zeros((resamples, ratings.size), bool)
    np.put_along_axis(there, drawn, values=True, axis=1)
    codes = np.unique(ratings)
    has = (ratings[..., None] == codes) & there.reshape(resamples, *ratings.shape, 1)
    return alphas(has.sum(2).astype(float))


def grid(frame, rows, columns, codes, missing=-1):
    """Labels as codes, a row an item and a column a rater; an answer without a label is ``missing``."""
    plain = frame.with_columns(pl.col(pl.Categorical).cast(pl.String))
    names = sorted(plain[rows].unique(), key=lambda name: (len(str(name)), str(name)))
    raters = plain.select(columns).unique().sort(columns).rows()
    at = {name: place for place, name in enumerate(names)}
    place = {rater: number for number, rater in enumerate(raters)}
    made = np.full((len(names), len(raters)), -1)
    for row in plain.iter_rows(named=True):
        rater = tuple(row[name] for name in columns)
        made[at[row[rows]], place[rater]] = codes.get(row["label"], missing) if row["label"] else missing
    return made


def tabled(study, name):
    """A table's rows."""
    return table(study, name).rows()
