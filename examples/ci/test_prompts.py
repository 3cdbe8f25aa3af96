# The guard as a test: `pytest` with Quaver installed. The stored answers are used; only what is new is asked.
import pytest
from model import annotate

import quaver


@pytest.fixture(scope="module")
def tickets():
    study = quaver.Study.open("prompts/tickets.yaml", functions={"stand-in": annotate})
    study.run()
    return study


def test_the_prompt_has_not_become_worse(tickets):
    before = quaver.Study.open("main.quaver.zip")
    comparison = quaver.compare(before, tickets, fail_unless=["accuracy > -0.03"], margin=0.03)
    assert comparison.held, comparison


def test_almost_every_answer_has_a_label(tickets):
    (compliance,) = tickets.measure("compliance")
    assert compliance.low > 0.85
