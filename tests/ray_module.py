"""A module in the place of Ray, for clusters that tests play."""

import sys
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

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
