"""Posts for walks through the pages: enough of the tutorial's spreadsheet for what a page shows."""

import pytest
from tests.spreadsheets import write_xlsx
from tests.start.walk import REFORM

from quaver.design.items.table_files import read_rows


def posts(path, every, by_hand=100):
    """Of the tutorial's posts so many that people labelled, spread over all, and every so-manieth other."""
    rows = read_rows(REFORM, sheet="Posts")
    labelled = [at for at, row in enumerate(rows) if row["hand_label"]]
    others = [at for at in range(len(rows))[5::every] if at not in labelled]
    kept = [rows[at] for at in sorted([*labelled[:: 100 // by_hand], *others])]
    write_xlsx(path, {"Posts": [[*rows[0]], *([*row.values()] for row in kept)]})
    return path


@pytest.fixture(scope="session")
def reform(tmp_path_factory):
    """A small ``reform.xlsx``, of more posts than a check asks about."""
    return posts(tmp_path_factory.mktemp("posts") / "reform.xlsx", 26, 10)


@pytest.fixture(scope="session")
def convincing(tmp_path_factory):
    """One with so many labels of people that its verdict is to use the model's."""
    return posts(tmp_path_factory.mktemp("posts") / "reform.xlsx", 33)
