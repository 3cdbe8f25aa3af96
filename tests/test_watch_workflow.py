"""The workflow that watches a model: its own steps, run for real on the example repository."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from ruamel.yaml import YAML
from tests.test_action import EXAMPLE


@pytest.fixture
def checkout(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "checkout")
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "curl").write_text('#!/bin/sh\nprintf "%s " "$@" > sent.txt\n')
    (commands / "quaver").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m quaver "$@"\n')
    for one in commands.iterdir():
        one.chmod(0o755)
    return tmp_path / "checkout"


def scripts(path):
    """The workflow's own steps by name."""
    (job,) = YAML(typ="safe").load(path.read_text())["jobs"].values()
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def sh(script, folder, **more):
    environment = {**os.environ, "PATH": f"{folder.parent / 'bin'}:{os.environ['PATH']}", **more}
    return subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=environment).returncode


def message(checkout):
    return dict(json.loads((checkout / "message.json").read_text()))


@pytest.mark.long
def test_the_workflow_for_github(checkout):
    steps = scripts(EXAMPLE / ".github" / "workflows" / "watch.yml")
    assert sh(steps["Look"], checkout) == 0
    assert message(checkout)["event"] == "quaver.watch.first"
    model = checkout / "model.py"
    model.write_text(model.read_text().replace('"bug"', '"question"'))
    assert sh(steps["Look"], checkout) == 1
    assert message(checkout)["alarm"] is True
    hook = "https://hooks.example/1"
    assert sh(steps["Tell"], checkout, WEBHOOK=hook) == 0
    assert (checkout / "sent.txt").read_text().split()[-3:] == ["-d", "@message.json", hook]


def test_the_job_for_gitlab_takes_the_same_look():
    job = YAML(typ="safe").load((EXAMPLE / "watch.gitlab-ci.yml").read_text())["watch"]
    assert job["script"] == [scripts(EXAMPLE / ".github" / "workflows" / "watch.yml")["Look"]]
    assert job["cache"]["paths"] == ["prompts/tickets/watch"]
