"""A Ray that is made of chance, in the module's place: what arrives first and which worker dies is drawn."""

import random
import sys
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

__all__ = ["ChanceRay"]

_LOSSES = ("RayActorError", "NodeDiedError", "ObjectLostError", "WorkerCrashedError", "OutOfMemoryError")


class Gone(Exception):
    """A worker is lost, with its node or without."""


class Raised(Exception):
    """What a worker's method raised."""

    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


@contextmanager
def ray_module(**known):
    """Stand where Ray is, with some of its functions."""
    module = ModuleType("ray")
    module.__spec__ = ModuleSpec("ray", None)
    exceptions = SimpleNamespace(RayTaskError=Raised, **dict.fromkeys(_LOSSES, Gone))
    played = {"__version__": "played", "is_initialized": lambda: True, "exceptions": exceptions}
    vars(module).update(played | known)
    with patch.dict(sys.modules, {"ray": module}):
        yield


class _Handle:
    """A worker, whose methods run when what they return is asked for."""

    def __init__(self, number, made):
        self.number, self.made, self.is_dead = number, made, False

    def __getattr__(self, name):
        return SimpleNamespace(remote=lambda *arguments: _Task(self, name, arguments))


class _Task:
    def __init__(self, handle, name, arguments):
        self.handle, self.name, self.arguments = handle, name, arguments


class ChanceRay:
    """Stands in for the module.

    Args:
        processors: How many workers fit.
        seed: Decides what happens.
        deaths: How many workers die.
        kills: Whether a request takes the worker with it.

    Attributes:
        made: The workers that were started.
        asked: What they were asked, each with the worker's number.
    """

    def __init__(self, processors, seed=0, deaths=0, kills=lambda _: False):
        self.processors, self.deaths, self._kills = processors, deaths, kills
        self.made = []
        self.asked = []
        self._chance = random.Random(seed)

    def entered(self):
        """Stand where Ray is."""
        return ray_module(
            cluster_resources=lambda: {"CPU": self.processors},
            cloudpickle=SimpleNamespace(register_pickle_by_value=lambda module: None),
            remote=lambda kind: SimpleNamespace(
                options=lambda **_: SimpleNamespace(remote=lambda *setup: self._start(kind, setup))
            ),
            kill=lambda handle, no_restart: setattr(handle, "is_dead", True),
            wait=self.wait,
            get=self._get,
        )

    def _start(self, kind, setup):
        self.made.append(_Handle(len(self.made), kind(*setup)))
        return self.made[-1]

    def wait(self, tasks, num_returns, timeout):
        """Some of what was asked has come, and perhaps a worker has died."""
        if self.deaths and self._chance.random() < 0.2:
            self._chance.choice([one for one in self.made if not one.is_dead]).is_dead = True
            self.deaths -= 1
        first = list({id(task.handle): task for task in reversed(tasks)}.values())  # a worker's come in turn
        found = self._chance.sample(first, self._chance.randint(1, len(first)))
        return found, [task for task in tasks if task not in found]

    def _get(self, task):
        handle = task.handle
        if task.name == "answer":
            self.asked += [(handle.number, one) for one in task.arguments[0]]
            handle.is_dead |= any(map(self._kills, task.arguments[0]))
        if handle.is_dead:
            raise Gone("the node died")
        try:
            return getattr(handle.made, task.name)(*task.arguments)
        except Exception as error:
            raise Raised(error) from error
