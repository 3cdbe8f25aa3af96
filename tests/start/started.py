"""``quaver start`` as a user starts it: a process of its own, about a folder."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager

__all__ = ["started"]


@contextmanager
def started(folder, environment=None):
    """The address, for as long as the block runs."""
    with begun(folder, environment) as (address, _):
        yield address


@contextmanager
def begun(folder, environment=None):
    """The address and the process."""
    own = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    own |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"} | dict(environment or {})
    command = [sys.executable, "-m", "quaver", "start", str(folder), "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own)
    try:
        yield process.stdout.readline().removeprefix("Open ").strip(), process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(15)
