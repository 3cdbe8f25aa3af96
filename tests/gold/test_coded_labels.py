"""What coders' labels amount to: agreement, adjudication, majority, labels that are kept apart."""

import polars as pl

from quaver.gold.returned_labels import CODED_COLUMNS, current, kept_apart, ratings, settled


def coded(*rows):
    """Labels: item, coder, role, label."""
    return pl.DataFrame([("", *row, None, "f", "now") for row in rows], schema=CODED_COLUMNS, orient="row")


LABELS = coded(
    ("1", "ada", "coder", "a"),
    ("1", "ben", "coder", "a"),
    ("2", "ada", "coder", "a"),
    ("2", "ben", "coder", "b"),
    ("2", "eva", "coder", "b"),
    ("3", "ada", "coder", "a"),
    ("3", "ben", "coder", "b"),
    ("4", "ada", "coder", "b"),
)


def test_disagreements_wait_for_an_adjudicator_or_a_majority():
    found = settled(LABELS)
    assert found.gold == {"1": "a", "4": "b"}
    assert found.open == {"2": {"ada": "a", "ben": "b", "eva": "b"}, "3": {"ada": "a", "ben": "b"}}
    decided = settled(pl.concat([LABELS, coded(("3", "carla", "adjudicator", "a"))]))
    assert (decided.gold["3"], decided.decided) == ("a", {"3": "adjudicator"})
    found = settled(LABELS, "majority")
    assert (found.gold["2"], found.decided) == ("b", {"2": "majority"})
    assert [*found.open] == ["3"], "a tie waits"
    more = pl.concat([LABELS, coded(("3", "ben", "coder", "a"))])
    assert settled(more).gold["3"] == "a", "the last word of a coder counts"
    assert (current(more).height, more.height) == (LABELS.height, LABELS.height + 1)
    assert ratings(LABELS).rows()[:2] == [("1", "a", "a", None), ("2", "a", "b", "b")]


def test_labels_kept_apart_are_no_part_of_the_sample():
    apart = coded(("9", "ada", "apart", "a"), ("8", "ada", "apart", "a"), ("8", "ben", "apart", "b"))
    assert kept_apart(apart) == {"9": "a"}
    assert settled(apart).gold == {}
    assert ratings(apart).is_empty()
