"""Commands in processes of their own that import nothing: forks of one that has, and computed nothing.

Beside each test process stands one more, from the first such command on. It imports Quaver, waits, and forks
itself for every command that it is told of through a socket; what it lacks a command imports, as ever.
For shells, a folder has a ``quaver`` and a ``python`` that tell it. A killed one leaves its command running.
"""

import atexit
import gc
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

__all__ = ["command", "path_of_commands"]

_ROOT = Path(__file__).parents[1]
_APART = ("quaver.cli", "quaver.start", "quaver.promptstability", "quaver.models.ray", "quaver.testing")
"""What commands import themselves: consoles look at their terminal then;
contracts start polars' threads, which no fork has."""

_TELL = """\
#!{python} -IS
import json, os, socket, sys
told = socket.socket(socket.AF_UNIX)
told.connect({address!r})
words = [*{words!r}, *sys.argv[1:]]
about = json.dumps([os.getcwd(), words, dict(os.environ)]).encode()
socket.send_fds(told, [len(about).to_bytes(4, "big")], [0, 1, 2])
told.sendall(about)
sys.exit(int(told.recv(4) or b"70"))
"""


@cache
def path_of_commands():
    """A folder with a ``quaver`` and a ``python`` that take no time to begin."""
    folder = Path(tempfile.mkdtemp(prefix="quaver-forked-", dir="/tmp"))
    address = str(folder / "socket")
    for name, words in (("quaver", ["-m", "quaver"]), ("python", [])):
        told = _TELL.format(python=sys.executable, address=address, words=words)
        (folder / name).write_text(told, encoding="utf-8")
        (folder / name).chmod(0o755)
    waiting = subprocess.Popen(
        [sys.executable, "-m", "tests.forked", address],
        cwd=_ROOT,
        stdin=subprocess.PIPE,  # it ends when this process does
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert waiting.stdout.readline()
    owner = os.getpid()

    def end():
        if os.getpid() == owner:
            waiting.stdin.close()
            waiting.wait()
            shutil.rmtree(folder)

    atexit.register(end)
    return folder


def command(*words):
    """The words of a command that has Python run something, as ``-m quaver`` or ``-c``, in a fork."""
    return [str(path_of_commands() / "python"), *words]


def _wait(address):
    """Fork for whoever asks, until nobody can any more."""
    for module in pkgutil.walk_packages(import_module("quaver").__path__, "quaver."):
        if not module.name.startswith(_APART) and not module.name.endswith("__main__"):
            with suppress(ImportError):
                import_module(module.name)
    for name in ("typer", "rich.console", "scipy.stats", "scipy.optimize", "scipy.sparse.csgraph"):
        import_module(name)
    gc.freeze()
    door = socket.socket(socket.AF_UNIX)
    door.bind(address)
    door.listen(64)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while sys.stdin not in (ready := select.select([door, sys.stdin], [], [])[0]):
        assert ready
        asked, _ = door.accept()
        if not os.fork():
            door.close()
            _answer(asked)
        asked.close()


def _answer(asked):
    """Run what is asked in a fork, and tell how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, files, _, _ = socket.recv_fds(asked, 4, 3)
    told = json.loads(asked.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    process = os.fork()
    if not process:
        asked.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        _begin(*told)
        sys.exit()
    ended = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    asked.sendall(str(ended if ended >= 0 else 128 - ended).encode())
    os._exit(0)


def _begin(folder, words, environment):
    """Run a command as a Python that has just begun would."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = ""
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    match words:
        case ["-c", code, *more]:
            sys.argv = ["-c", *more]
            sys.modules["__main__"] = ModuleType("__main__")
            exec(compile(code, "<string>", "exec"), vars(sys.modules["__main__"]))
        case ["-m", module, *more]:
            sys.argv = [module, *more]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [option, *_] if option.startswith("-"):
            os.execv(sys.executable, [sys.executable, *words])
        case [file, *more]:
            sys.argv, sys.path[0] = [file, *more], str(Path(file).parent)
            runpy.run_path(file, run_name="__main__")


if __name__ == "__main__":
    _wait(sys.argv[1])
