"""A Python function as a model: what counts as the same function, and what its failures become."""

import asyncio
import enum
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from pydantic import BaseModel

from quaver.errors import ModelError
from quaver.models.python_function import Function
from quaver.testing.requests import ask, one, request


def echo(text, prompt):
    return f"{text}|{prompt}"


def model(annotate, **options):
    return Function(annotate=annotate, **options)


def raising(error):
    """A function that raises an error, or what a function of the text makes."""

    def annotate(text, prompt):
        raise error(text) if callable(error) else error

    return annotate


def about(item, repeats=1):
    asked = request(str(item), repeats=range(repeats))
    return asked._replace(calls=tuple(call._replace(item=item) for call in asked.calls))


@pytest.mark.parametrize(
    ("annotate", "text"),
    [(echo, "a text|Which?"), (str.upper, "A TEXT"), (lambda text: text[::-1], "txet a")],
)
def test_it_gets_the_text_and_the_question_or_the_text_alone(annotate, text):
    assert one(model(annotate), request("a text", question="Which?", system="unseen")).text == text


@pytest.mark.parametrize("annotate", [lambda text, prompt, more: "a", lambda: "a"])
def test_one_that_cannot_take_what_it_is_given_is_refused_before_it_is_asked(annotate):
    with pytest.raises(ModelError, match="arguments") as caught:
        model(annotate)
    assert "annotate(text, prompt)" in (caught.value.expected or "")
    model(lambda *all_of_it: "a")
    model(lambda text, prompt, more="": "a")


def test_what_it_raises_becomes_an_error_response():
    response = one(model(raising(ValueError("not " + "very " * 500 + "good"))), request())
    assert response.finish == "error"
    assert response.error.startswith("ValueError: not very")
    assert response.error.endswith("very good"), "a provider's sentence may stand last"
    assert len(response.error) <= 500


@pytest.mark.parametrize("asked", [[about(7)] * 100, [about(item) for item in range(15)]])
def test_one_text_that_fails_and_texts_that_fail_each_for_another_reason_end_nothing(asked):
    faults = model(raising(lambda text: type(f"Fault{text}", (Exception,), {})("no")))
    assert len(list(faults.answer(asked))) == len(asked)


def test_nineteen_items_that_fail_in_a_row_end_nothing_and_twenty_do():
    def seldom(every):
        def annotate(text, prompt):
            if int(text) % every:
                raise ValueError("no")
            return "yes"

        return model(annotate).answer(about(item) for item in range(40))

    found = [response for _, (response,) in seldom(20)]
    assert sum(response.finish == "error" for response in found) == 38
    with pytest.raises(ModelError, match="ValueError: no") as caught:
        list(seldom(100))
    assert "20 items" in caught.value.found


@pytest.mark.parametrize("repeats", [1, 3, 5])
@pytest.mark.parametrize("is_async", [False, True])
def test_where_every_call_fails_alike_it_ends_within_ten_calls_with_its_own_sentence(is_async, repeats):
    calls = []

    def always(text, prompt):
        calls.append(1)
        raise ValueError("the endpoint of this deployment was retired")

    async def later(text, prompt):
        await asyncio.sleep(0)
        return always(text, prompt)

    with pytest.raises(ModelError) as caught:
        ask(model(later if is_async else always), *(about(item, repeats) for item in range(100)))
    assert caught.value.problem == "ValueError: the endpoint of this deployment was retired"
    assert 8 <= len(calls) <= 10


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no")


class Colour(enum.Enum):
    RED = "red"


class Tone(enum.StrEnum):
    WARM = "warm"


@pytest.mark.parametrize(
    "raised",
    [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), Mute(), MemoryError()],
)
def test_whatever_it_raises_beside_a_worker_is_that_calls_error(raised):
    async def fails_later(text, prompt):
        await asyncio.sleep(0)
        raise raised

    for annotate in (raising(raised), fails_later, lambda text, prompt: fails_later(text, prompt)):
        (response,) = in_a_worker(lambda one_of=annotate: ask(model(one_of), request()))[0]
        assert (response.finish, response.text) == ("error", "")
        assert (response.error or "").startswith(type(raised).__name__)


def in_a_worker(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(30)


def test_ctrl_c_in_the_main_thread_still_stops():
    with pytest.raises(KeyboardInterrupt):
        one(model(raising(KeyboardInterrupt())), request())


@pytest.mark.parametrize(
    "given",
    [
        b"yes",
        ["yes"],
        {"label": b"yes"},
        {"label": object()},
        ("yes",),
        object(),
        Colour.RED,
        iter("yes"),
        (c for c in "yes"),
        len,
    ],
)
def test_what_is_no_text_is_an_error_that_says_so(given):
    response = one(model(lambda text, prompt: given), request())
    assert response.finish == "error"
    assert type(given).__name__ in (response.error or "")


class Coded(BaseModel):
    tone: str
    amount: float


RECORD = '{"tone": "wärm", "amount": 3.5}'


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, ""),
        (1, "1"),
        (True, "True"),
        ("", ""),
        ("x\n", "x\n"),
        (Tone.WARM, "warm"),
        ({"tone": "wärm", "amount": 3.5}, RECORD),
        (Coded(tone="wärm", amount=3.5), RECORD),
    ],
)
def test_what_it_returns_becomes_text(given, text):
    response = one(model(lambda text, prompt: given), request())
    assert (response.text, response.finish) == (text, "stop")
    assert type(response.text) is str


def test_a_function_that_yields_is_refused_before_it_is_asked():
    def yields(text, prompt):
        yield "yes"

    async def yields_later(text, prompt):
        yield "yes"

    class Yields:
        def __call__(self, text, prompt):
            yield "yes"

    for annotate in (yields, yields_later, Yields(), partial(yields)):
        with pytest.raises(ModelError, match="yields its answer") as caught:
            model(annotate)
        assert "return" in (caught.value.fix or "")


async def echo_later(text, prompt):
    await asyncio.sleep(0)
    return f"{text}|{prompt}"


class EchoLater:
    async def __call__(self, text, prompt):
        return await echo_later(text, prompt)


@pytest.mark.parametrize(
    "annotate", [echo_later, EchoLater(), partial(echo_later), lambda text, prompt: echo_later(text, prompt)]
)
def test_a_coroutine_is_waited_for(annotate):
    asked = [request(f"text {n}", repeats=(0, 1), question="?") for n in range(30)]
    found = ask(model(annotate), *asked)
    assert [[one.text for one in responses] for responses in found] == [
        [f"text {n}|?"] * 2 for n in range(30)
    ]
    assert all(one.latency is not None for responses in found for one in responses)


def test_coroutines_are_under_way_side_by_side_and_no_more_than_wanted():
    now, most = 0, 0

    async def slow(text, prompt):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return "yes"

    asked = [request(str(n)) for n in range(40)]
    assert len(ask(model(slow, concurrency=4), *asked)) == 40
    assert most == 4


def test_a_client_that_is_made_once_serves_every_run():
    """As a connection that is kept open: it belongs to the loop on which it was made."""
    loops = set()

    async def annotate(text, prompt):
        loops.add(id(asyncio.get_running_loop()))
        return "yes"

    for _ in range(2):
        one(model(annotate), request())
    in_a_worker(lambda: one(model(annotate), request()))

    async def in_a_notebook():
        return one(model(annotate), request())

    assert asyncio.run(in_a_notebook()).text == "yes"
    assert len(loops) == 1


def test_identity_follows_the_source_and_the_version():
    def made(mark):
        source = f"def annotate(text, prompt):\n    return {mark!r}\n"
        names = {}
        exec(source, names)
        return names["annotate"]

    assert model(echo).identity() == model(echo).identity()
    assert model(echo).identity() != model(echo, version="2").identity()
    assert model(echo).identity() != model(lambda text, prompt: "x").identity()
    assert model(made("a")).identity() == model(made("a")).identity() != model(made("b")).identity()
    assert model(str.__add__).identity()
    assert model(partial(made("a"))).identity() != model(partial(made("b"))).identity()
