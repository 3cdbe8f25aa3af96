"""A model in Ray workers, on a Ray that is made of chance: workers come, and die."""

from collections import Counter
from importlib.util import find_spec
from itertools import islice

import pytest
from tests.collect.fakes import Fake, fake, request
from tests.models.ray.chance_ray import ChanceRay
from tests.models.serving import serving
from tests.models.test_served_faults import check, study
from tests.studies import written

from quaver.collect.run.model_answers import taken
from quaver.core.calls import Response
from quaver.core.model import Answered
from quaver.errors import ModelError, SpecError, Unavailable
from quaver.models.ray_workers import RayWorkers, Worker
from quaver.study.session import Study


def said(asked, call):
    return Response(f"{call.item}.{call.repeat}")


def answers(ray, requests, make=lambda: fake(said)):
    with ray.entered():
        model = RayWorkers(fake(said), make)
        model.every = 0.0
        yield from taken(model, requests)
        model.close()


def by_item(found):
    return {one.calls[0].item: responses[0] for one, responses in found}


@pytest.mark.parametrize("seed", range(40))
def test_every_request_has_one_answer_however_workers_die(seed):
    asked = [request(item, range(2)) for item in range(60)]
    found = list(answers(ChanceRay(3, seed, deaths=6), asked))
    assert Counter(one.calls[0].key for one, _ in found) == Counter(one.calls[0].key for one in asked)
    for one, responses in found:
        assert [r.text for r in responses] == [f"{call.item}.{call.repeat}" for call in one.calls]


def test_nodes_that_join_get_workers():
    ray = ChanceRay(1, 8)
    found = answers(ray, (request(item) for item in range(5000)))
    next(found)
    ray.processors = 4
    assert len(list(found)) == 4999
    assert len(ray.made) == 4


def test_a_request_that_kills_every_worker_becomes_an_error():
    ray = ChanceRay(3, 4, kills=lambda one: one.calls[0].item == 7)
    found = by_item(answers(ray, (request(item) for item in range(20))))
    assert len(found) == 20
    assert [item for item, response in found.items() if response.finish == "error"] == [7]


def test_what_was_out_when_the_cluster_failed_is_not_waited_for():
    class Failing(ChanceRay):
        looks = 0

        def wait(self, *arguments, **more):
            self.looks += 1
            if self.looks == 5:
                raise RuntimeError("the connection to the cluster broke")
            return super().wait(*arguments, **more)

    asked = [request(item) for item in range(60)]
    found = list(answers(Failing(2, 7), asked))
    assert Counter(one.calls[0].key for one, _ in found) == Counter(one.calls[0].key for one in asked)
    failed = [responses[0].error for _, responses in found if responses[0].finish == "error"]
    assert failed
    assert all("broke" in str(one) for one in failed)


def test_workers_that_only_die_give_the_model_up():
    with pytest.raises(ModelError, match="died"):
        list(answers(ChanceRay(2, 5, kills=lambda one: True), (request(item) for item in range(100))))


def test_no_more_is_drawn_than_workers_have_room_for():
    drawn = []

    def some():
        for item in range(10_000):
            drawn.append(item)
            yield request(item)

    found = answers(ChanceRay(2, 6), some())
    for _ in range(5):
        next(found)
    assert len(drawn) < 5 + 2 * 40


def test_what_a_model_left_of_a_group_it_is_asked_again():
    class Leaving(Fake):
        def answer(self, requests):
            for one in islice(requests, 2):
                yield one, [said(one, call) for call in one.calls]

    found = by_item(answers(ChanceRay(2), (request(item) for item in range(50)), lambda: Leaving(said)))
    assert {item: one.text for item, one in found.items()} == {item: f"{item}.0" for item in range(50)}


def test_what_was_answered_before_the_model_failed_is_kept():
    class Failing(Fake):
        def answer(self, requests):
            for one in requests:
                if one.calls[0].item == 3:
                    yield one.part(one.calls[:1]), [Response("no")]
                    raise ModelError("no memory")
                yield one, [Response("yes")] * 2

    requests = (request(item, range(2)) for item in range(9))
    came, found = answers(ChanceRay(1), requests, lambda: Failing(said)), list[Answered]()
    with pytest.raises(ModelError, match="no memory"):
        found.extend(came)
    assert [(one.calls[0].item, len(some), some[0].text) for one, some in found] == [
        (0, 2, "yes"),
        (1, 2, "yes"),
        (2, 2, "yes"),
        (3, 1, "no"),
    ]


@pytest.mark.parametrize(("model", "version"), [("another", None), ("fake", "0.0.1")])
def test_a_worker_is_of_the_drivers_model_and_version(model, version):
    with pytest.raises(ModelError, match="another"):
        Worker(fake, model, version or Worker.__init__.__globals__["_QUAVER"]).ready(1)


def test_a_study_on_ray_has_the_answers_of_one_that_is_asked_here(tmp_path):
    functions = {"fake": lambda text, prompt: "positive" if len(text) % 2 else "negative"}
    here = Study.open(written(tmp_path / "here"), functions=functions)
    here.run()
    ray = ChanceRay(3, 2, deaths=2)
    with ray.entered():
        there = Study.open(written(tmp_path / "there"), functions=functions)
        assert there.run(where={"on": "ray"}).ended == "finished"
    assert ray.asked
    columns = ["item", "variant", "repeat", "label"]
    tables = [one.annotations().select(columns).sort(columns) for one in (here, there)]
    assert tables[0].equals(tables[1])


def test_a_server_is_asked_from_here(tmp_path):
    ray = ChanceRay(2)
    with ray.entered(), serving() as (url, _):
        study(tmp_path, url, items=10).run(where={"on": "ray"})
    check(tmp_path, 20)
    assert not ray.made


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_with_ray_missing_the_one_error_says_how_to_get_it(tmp_path):
    study = Study.open(written(tmp_path), functions={"fake": lambda text, prompt: "positive"})
    with pytest.raises(Unavailable, match="ray is not installed") as found:
        study.run(where={"on": "ray"})
    assert "quaver[ray]" in str(found.value.fix)


def test_where_models_are_asked_is_checked_like_the_study_file(tmp_path):
    study = Study.open(written(tmp_path), functions={"fake": lambda text, prompt: "positive"})
    with pytest.raises(SpecError, match="on"):
        study.run(where={"on": "mars"})
