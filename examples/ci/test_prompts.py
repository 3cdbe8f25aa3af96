# The guard as a test: `pytest` with Quaver installed. The stored answers are used; only what is new is asked.
from model import annotate

from quaver.pytest_plugin import assert_no_loss


def test_the_prompt_has_not_become_worse(quaver_study):
    study = quaver_study("prompts/tickets.yaml", functions={"stand-in": annotate})
    assert_no_loss(study, baseline="main.quaver.zip", margin=0.03)


def test_almost_every_answer_has_a_label(quaver_study):
    study = quaver_study("prompts/tickets.yaml", functions={"stand-in": annotate})
    (compliance,) = study.measure("compliance")
    assert compliance.low > 0.85
