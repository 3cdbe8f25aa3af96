"""The JUnit XML of a comparison, read back by a JUnit reader and held against a schema."""

from pathlib import Path

import pytest
import xmlschema
from junitparser import Failure, JUnitXml, Skipped
from tests.compared import HOSTILE, LOSS, comparison, difference

from quaver.comparison.comparison_result import junit
from quaver.core.records import Estimate

SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[1] / "data" / "junit.xsd")


def read(found, **how):
    """A comparison's JUnit XML, valid by the schema, as the reader reads it."""
    text = junit(found, **how)
    SCHEMA.validate(text)
    return JUnitXml.fromstring(text.encode())


def test_a_bound_that_fails_is_a_failed_test():
    (suite,) = read(LOSS, file="prompts/study.yaml")
    (case,) = suite
    assert (suite.tests, suite.failures, suite.errors) == (1, 1, 0)
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert failure.type == "loss"
    assert "5 points" in failure.message
    assert "80.0% before" in failure.text
    assert (case.classname, case._elem.get("file")) == ("quaver.accuracy", "prompts/study.yaml")


def test_without_bounds_every_difference_is_a_test_that_passes():
    (suite,) = read(comparison(LOSS.differences))
    assert (suite.tests, suite.failures, suite.skipped) == (3, 0, 1)
    outcomes = {case.classname: case.result for case in suite}
    assert outcomes["quaver.accuracy"] == []
    assert isinstance(outcomes["quaver.f1"][0], Skipped)


def test_cells_have_names_of_their_own():
    rows = [difference(-0.08, -0.02, variant="paraphrase=a"), difference(-0.02, 0.02, variant="paraphrase=b")]
    (suite,) = read(comparison(rows, fail_if="accuracy < 0"))
    assert [(case.name.endswith("variant a"), bool(case.result)) for case in suite] == [
        (True, True),
        (False, False),
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_breaks_out(text):
    rows = [difference(-0.08, -0.02, variant=text), difference(-0.02, 0.02, variant="x")]
    rows.append(Estimate("f1", None, reason=text))
    (suite,) = read(comparison(rows, before=text, after=text, fail_if="accuracy < 0"), file=text)
    assert (suite.tests, suite.failures) == (2, 1)
    assert len(list(suite)) == 2
