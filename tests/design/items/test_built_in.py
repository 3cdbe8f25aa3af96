"""The voters of 1996 as items: as many as the codebook says, in words that follow its codes."""

import pytest
from statsmodels.datasets import anes96 as published_voters

from quaver.design.items.built_in import anes96 as rows
from quaver.testing.recipes import built, plugins, recipe_of


def test_the_words_of_the_first_voter():
    # The first line of the data: popul 0, TVnews 7, selfLR 7, ClinLR 1, DoleLR 6, PID 6, age 36, educ 3,
    # income 1, vote 1.
    first = rows()[0]
    assert {
        name: first[name] for name in ("place", "news", "education", "earnings", "party", "ideology")
    } == {
        "place": "the countryside",
        "news": "every day",
        "education": "finished high school",
        "earnings": "less than $3,000",
        "party": "a strong Republican",
        "ideology": "extremely conservative",
    }
    assert (first["age"], first["vote"]) == (36, 1)


def test_words_follow_the_numbers():
    by_days = {row["TVnews"]: row["news"] for row in rows()}
    assert by_days[0] == "never"
    assert by_days[1] == "on 1 day a week"
    assert by_days[6] == "on 6 days a week"
    assert {"7,300,000" in str(row["place"]) for row in rows() if row["popul"] == 7300} == {True}
    strongest = [row for row in rows() if row["PID"] == 0]
    assert {row["party"] for row in strongest} == {"a strong Democrat"}
    assert sum(row["vote"] == 0 for row in strongest) / len(strongest) > 0.95


def test_the_numbers_are_those_of_the_published_table():
    published = published_voters.load_pandas().data
    shipped = rows()
    for column in ("popul", "TVnews", "selfLR", "ClinLR", "DoleLR", "PID", "age", "educ", "income", "vote"):
        assert [row[column] for row in shipped] == published[column].astype(int).tolist()


@pytest.mark.parametrize("name", plugins("items"))
def test_rows_are_mappings_with_the_same_columns_and_the_same_each_time(name):
    options = recipe_of("items", name).options
    found = built("items", name, options)
    assert found
    assert found == built("items", name, options)
    assert len({tuple(row) for row in found}) == 1
    assert all(isinstance(column, str) for column in found[0])
