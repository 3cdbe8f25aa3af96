"""Whatever a server replies ends in an answer, an error response of that call, or one error with a fix.

Nothing that was stored is lost by it, and the key leaves by no door.
"""

import re
from contextlib import closing, contextmanager

import pytest
from tests.collect.fakes import answers, opened, request, run
from tests.models.odd_replies import ANSWER, odd_replies
from tests.models.odd_replies.player import playing

from quaver.collect.run.journal import Journal
from quaver.collect.run.model_answers import taken
from quaver.core.records import Decoding
from quaver.errors import ModelError
from quaver.models.openai_compatible import OpenAICompatible

KEY = "sk-quaver-0123456789abcdef"
ODD = odd_replies()
GOOD = len(ODD)
"""Items from here on are answered as they should be."""


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("PLAYED_API_KEY", KEY)
    monkeypatch.setattr("quaver.models.served.pace._LONGEST_HOLD", 0.005)


def asked(item):
    return request(item, text=str(item))._replace(decoding=Decoding("greedy", logprobs=2))


@contextmanager
def played(patience, timeout=60.0):
    """A model whose answer to an item is the odd reply of that number."""

    def choose(body):
        item = int(body["messages"][-1]["content"])
        return ODD[item] if item < GOOD else None

    with playing(choose) as url:
        yield OpenAICompatible(
            model="m", base_url=url, key="PLAYED_API_KEY", supports={"logprobs": 5},
            retries=0, patience=patience, timeout=timeout,
        )  # fmt: skip


def check_folder(folder):
    """The key is in none of its files."""
    for path in folder.iterdir():
        assert KEY.encode() not in path.read_bytes(), path.name


def test_names_and_numbers():
    assert len({one.name for one in ODD}) == len(ODD) > 1_000


@pytest.mark.long
def test_no_reply_costs_more_than_it_says(tmp_path):
    """All that may cost a call at most, in one run, every third other call of which is answered well."""
    odd = [item for item, one in enumerate(ODD) if one.costs != "work" and not one.stays_open]
    check_run(tmp_path, odd, patience=60.0, timeout=60.0)


@pytest.mark.long
def test_silence_costs_a_call(tmp_path):
    odd = [item for item, one in enumerate(ODD) if one.stays_open]
    found = check_run(tmp_path, odd, patience=60.0, timeout=3.0)
    assert all("within 3 s" in (found[item].error or "") for item in odd)


def check_run(folder, odd, **options):
    good = range(GOOD, GOOD + 1 + len(odd) // 3)
    requests = [asked(item) for item in odd]
    for place, item in enumerate(good):
        requests.insert(4 * place, asked(item))
    journal = Journal(folder / "run.log")
    with closing(opened(folder, items=len(ODD) + len(good))) as store, played(**options) as model:
        outcome = run(store, model, requests, total=len(requests), journal=journal)
        found = {item: response for (_, item, _), response in answers(store).items()}
    assert (outcome.done, outcome.missing) == (len(requests), 0)
    assert [found[item] for item in good if found[item].text != ANSWER] == []
    spoilt = [
        (ODD[item].name, found[item])
        for item in odd
        if ODD[item].costs == "nothing" and (found[item].text, found[item].finish) != (ANSWER, "stop")
    ]
    assert spoilt == []
    assert [one for one in found.values() if not _is_sound(one)] == []
    check_folder(folder)
    return found


@pytest.mark.long
def test_what_ends_the_work_says_why_and_what_to_do():
    wrong = []
    with played(patience=0.05) as model:
        for item in (item for item, one in enumerate(ODD) if one.costs == "work"):
            told, found = "", []
            try:
                for _, responses in taken(model, [asked(GOOD), asked(item)]):
                    found += responses
            except ModelError as error:
                told = str(error)
                if not (error.fix and error.where):
                    wrong.append((ODD[item].name, told))
            model.close()
            well = [one for one in found if one.text == ANSWER]
            if KEY in told or not well or not (told or (len(found) == 2 and all(map(_is_sound, found)))):
                wrong.append((ODD[item].name, told or str(found)))
    assert wrong == []


def _is_sound(response):
    if response.finish == "error":
        told = response.error or ""
        return (
            bool(told) and told.replace("\n", "").isprintable() and not re.search(r"Traceback|quaver\.", told)
        )
    return response.error is None or response.finish == "content_filter"
