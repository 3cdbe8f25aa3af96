"""``kill -9`` at any moment, and run again: nothing stored is lost, and nothing stored is asked again."""

import itertools
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.collect.kills import KILLS
from tests.studies import written

pytestmark = pytest.mark.long

REPEATS = 7
STUDY = f"""\
task:
  labels: [positive, negative]
items: {{source: items.csv, id: id, text: "{{{{ text }}}}"}}
prompt: {{instruction: Is it so?}}
variants:
  - use: instructions
    texts: {{{", ".join(f"w{n}: Is it so in way {n}?" for n in range(9))}}}
models:
  - {{name: fake, use: function}}
repeats: {REPEATS}
"""
ITEMS = "id,text\n" + "".join(f"{n},Text number {n % 93}.\n" for n in range(100))
TWINS = {*range(7), *range(93, 100)}
INSTRUCTIONS = ["Is it so?", *(f"Is it so in way {n}?" for n in range(9))]
CALLS = 100 * len(INSTRUCTIONS) * REPEATS


def collected(folder, *arguments):
    study = written(folder, STUDY, ITEMS)
    script = str(Path(__file__).with_name("kills.py"))
    done = subprocess.run(
        [sys.executable, script, str(study), str(folder / "log"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    found = collected(folder, "1")
    return found, (folder / "log").read_text().splitlines()


@pytest.mark.long
def test_every_stored_response_is_kept_as_it_was(killed):
    found, _ = killed
    states = [state["answers"] for state in found["seen"]]
    states.append({key: [row[0], row[2]] for key, row in found["end"].items()})
    for before, after in itertools.pairwise(states):
        assert {key: after.get(key) for key in before} == before
    sizes = [len(state) for state in states]
    assert sizes[-1] == CALLS
    assert len(set(sizes)) > 3, "some kills fell between two writes"


def test_a_group_of_repeats_is_stored_whole_or_not_at_all(killed):
    found, _ = killed
    places = {key: (row[3], row[4]) for key, row in found["end"].items()}
    for state in found["seen"]:
        assert set(Counter(places[key] for key in state["answers"]).values()) <= {REPEATS}


def test_nothing_stored_is_asked_again(killed):
    found, log = killed
    asked = [line.partition(" Answer")[0] for line in log]
    for state in found["seen"]:
        again = Counter(asked[state["askings"] :])
        for key in state["answers"]:
            _, _, _, condition, item, _ = found["end"][key]
            if item not in TWINS:
                assert again[f"Text number {item}.|{INSTRUCTIONS[condition]}"] == 0


def test_the_results_are_those_of_a_run_without_a_kill(killed, tmp_path):
    from tests.collect.kills import asking, stored

    from quaver.study.session import Study

    found, _ = killed
    study = written(tmp_path, STUDY, ITEMS)
    Study.open(study, functions={"fake": asking(tmp_path / "log")}).run()
    clean = stored(study)
    assert len((tmp_path / "log").read_text().splitlines()) == CALLS
    without_time = {key: [*row[:2], *row[3:]] for key, row in clean.items()}
    assert {key: [*row[:2], *row[3:]] for key, row in found["end"].items()} == without_time


def test_a_kill_costs_the_request_that_was_being_answered_and_no_other(killed):
    _, log = killed
    assert CALLS <= len(log) <= CALLS + KILLS * REPEATS
