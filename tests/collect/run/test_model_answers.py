"""What is taken from a model: each request ends in a response a call, or the model ends with one error."""

import pickle
from itertools import islice

import pytest
from tests.collect.fakes import Fake, echo, fake, request

from quaver.collect.run.model_answers import taken
from quaver.core.calls import Response
from quaver.errors import ModelError, Unavailable


class Odd(Fake):
    """Answers requests as a function of all of them says."""

    def __init__(self, answer):
        super().__init__(echo)
        self._answers = answer

    def answer(self, requests):
        yield from self._answers(requests)


def told(model, requests):
    """By item: the text of each response, or its error."""
    found = [(asked, responses) for asked, responses in taken(model, requests)]
    assert sorted(id(asked) for asked, _ in found) == sorted(id(one) for one in requests), "as it was asked"
    assert all(type(one) is Response for _, responses in found for one in responses)
    return {
        asked.calls[0].item: [one.error if one.finish == "error" else one.text for one in responses]
        for asked, responses in found
    }


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ([], "the model gave 0 responses to 2 calls"),
        ([Response("a")] * 3, "the model gave 3 responses to 2 calls"),
        (None, "the model gave None to 2 calls"),
        ("abc", "the model gave abc to 2 calls"),
        ({"a": 1, "b": 2}, "the model gave {'a': 1, 'b': 2} to 2 calls"),
        (["a", 1], "the model gave a str, not a Response"),
    ],
)
def test_odd_responses_are_errors_of_their_request_alone(given, error):
    def answer(requests):
        for asked in requests:
            yield asked, (given if asked.calls[0].item == 1 else [Response("good")] * len(asked.calls))

    found = told(Odd(answer), [request(item, (0, 1)) for item in range(3)])
    assert found[0] == found[2] == ["good", "good"]
    assert found[1][0] == error


def test_a_request_may_come_back_as_a_copy_from_another_process():
    def answer(requests):
        for asked in list(requests)[::-1]:
            yield pickle.loads(pickle.dumps((asked, [Response("good")])))

    assert told(Odd(answer), [request(item) for item in range(3)]) == {n: ["good"] for n in range(3)}


@pytest.mark.parametrize(
    "answer",
    [
        lambda requests: iter([None]),
        lambda requests: iter([(next(requests),)]),
        lambda requests: iter([(request(99), [Response("x")])]),
        lambda requests: iter([(one := next(requests), [Response("x")]), (one, [Response("x")])]),
        lambda requests: iter([("x", [Response("x")])]),
        lambda requests: iter([((one := next(requests)).part(one.calls[:1]), [Response("x")])] * 2),
    ],
)
def test_an_answer_to_nothing_that_was_asked_ends_the_work_with_the_model(answer):
    with pytest.raises(ModelError, match="contract") as caught:
        list(taken(Odd(answer), [request(0), request(1)]))
    assert caught.value.expected is not None


def test_a_model_that_ends_early_owes_an_answer():
    def answer(requests):
        for asked in requests:
            if asked.calls[0].item != 1:
                yield asked, [Response("good")]

    found = told(Odd(answer), [request(item) for item in range(3)])
    assert found[0] == found[2] == ["good"]
    assert "no answer" in found[1][0]


def test_a_model_that_breaks_down_goes_on_with_the_next_request_until_it_does_so_all_the_time():
    def breaks(asked, call):
        if call.item % 20:
            raise ZeroDivisionError
        return echo(asked, call)

    found = told(fake(breaks), [request(item) for item in range(40)])
    assert [item for item, (text,) in found.items() if text != "ZeroDivisionError"] == [0, 20]

    def always(asked, call):
        raise ZeroDivisionError

    model = fake(always)
    answers = taken(model, [request(item) for item in range(99)])
    assert [responses[0].error for _, responses in islice(answers, 8)] == ["ZeroDivisionError"] * 8
    with pytest.raises(ModelError, match="ZeroDivisionError") as caught:
        next(answers)
    assert len(model.asked) == 8
    assert "8 items" in caught.value.found


def test_what_a_model_says_of_itself_and_what_drawing_raises_is_passed_on():
    def gone(requests):
        raise Unavailable("gone")

    def broken(requests):
        raise OSError("no such library")

    def drawing():
        yield request(0)
        raise LookupError("the plan is at fault")

    with pytest.raises(Unavailable):
        list(taken(Odd(gone), [request(0)]))
    with pytest.raises(ModelError, match="before it was asked") as caught:
        list(taken(Odd(broken), [request(0)]))
    assert (caught.value.found or "").startswith("OSError: ")
    with pytest.raises(LookupError):
        list(taken(fake(), drawing()))
    with pytest.raises(KeyboardInterrupt):
        list(taken(fake(lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)), [request(0)]))


def test_a_model_that_must_stop_gives_what_it_has_of_a_request():
    def answer(requests):
        first, second = islice(requests, 2)
        yield second.part(second.calls[1:2]), [Response("middle")]
        yield first, [Response("whole")] * 3
        yield second.part(second.calls[2:]), [Response("last")]
        raise Unavailable("the key is rejected")

    asked = [request(item, (0, 1, 2)) for item in range(2)]
    answers = taken(Odd(answer), asked)
    found = [*islice(answers, 3)]
    with pytest.raises(Unavailable):
        next(answers)
    of_second = asked[1].calls
    assert [(one.calls, [said.text for said in responses]) for one, responses in found] == [
        (of_second[1:2], ["middle"]),
        (asked[0].calls, ["whole"] * 3),
        (of_second[2:], ["last"]),
    ]
    assert [one.seed - asked[1].seed for one, _ in found[::2]] == [1, 2]


def test_what_is_left_of_a_request_is_owed_still():
    def answer(requests):
        (only,) = requests
        yield only.part(only.calls[1:2]), [Response("middle")]

    asked = request(0, (0, 1, 2))
    found = {
        call.repeat: one.text or "owed"
        for part, responses in taken(Odd(answer), [asked])
        for call, one in zip(part.calls, responses, strict=True)
    }
    assert found == {0: "owed", 1: "middle", 2: "owed"}
