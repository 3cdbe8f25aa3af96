"""The GitHub action, run as a runner runs it: its shell steps for real, on the example repository."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import cmarkgfm
import pytest
from junitparser import JUnitXml
from ruamel.yaml import YAML
from tests.composite_action import Job
from tests.pages import files_of
from tests.workflow_commands import commands_in

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "ci"
RULE = " What is about money is billing, even if something broke."
PULL = {"number": 7, "head": {"repo": {"fork": False}}}
FORKED = {"number": 7, "head": {"repo": {"fork": True}}}
needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="the fake gh filters with jq")


class Repository:
    """The example repository on GitHub: its cache, its pull request and that one's comments."""

    def __init__(self, folder):
        self.folder, self.jobs = folder, 0
        self.comments = folder / "comments.json"
        self.comments.write_text(json.dumps([{"id": 1, "user": {"type": "User"}, "body": "Nice."}]))
        commands = folder / "bin"
        commands.mkdir()
        shutil.copy(ROOT / "tests" / "fake_gh.py", commands / "gh")
        (commands / "gh").chmod(0o755)
        (steps,) = YAML(typ="safe").load(_text(EXAMPLE / ".github/workflows/prompts.yml"))["jobs"].values()
        (used,) = [step for step in steps["steps"] if "quaver" in step["uses"]]
        self.inputs = {name: str(value) for name, value in used["with"].items()} | {"install": ""}

    def job(self, *, prompt=None, pull=None, **more):
        """A job on a fresh checkout, with another prompt perhaps; it and the action's outputs."""
        event, files = more.pop("event", "pull_request"), more.pop("files", {})
        steps, environment = more.pop("steps", None), more.pop("environment", {})
        self.jobs += 1
        place = self.folder / f"job{self.jobs}"
        shutil.copytree(EXAMPLE, place / "checkout")
        if prompt is not None:
            file = place / "checkout" / "prompts" / "tickets.yaml"
            file.write_text(file.read_text().replace(RULE, prompt))
        for name, text in files.items():
            (place / "checkout" / name).write_text(text)
        github = {
            "event_name": event,
            "event": {"pull_request": pull or PULL} if event != "push" else {},
            "repository": "me/shop",
            "run_id": self.jobs,
            "run_attempt": 1,
            "token": "ghs_secret",
        }
        path = f"{self.folder / 'bin'}:{_path()}"
        environment = {"PATH": path, "FAKE_GH": str(self.comments), **environment}
        job = Job(place / "checkout", self.folder / "cache", github, environment)
        return job, job.use(ROOT / "action.yml", {**self.inputs, **more}, steps)

    @property
    def bodies(self):
        """The comments."""
        return [one["body"] for one in json.loads(self.comments.read_text())]


def _text(path):
    return path.read_text(encoding="utf-8")


def _path():
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """A repository of which the workflow ran on main: its folder, to be copied."""
    folder = tmp_path_factory.mktemp("pushed")
    job, outputs = Repository(folder).job(event="push")
    assert not job.failed, job.log
    assert outputs["verdict"] == "baseline"
    return folder


@pytest.fixture
def repository(pushed, tmp_path):
    shutil.copytree(pushed / "cache", tmp_path / "cache")
    return Repository(tmp_path)


@pytest.mark.long
@needs_jq
def test_a_worse_prompt_fails_and_is_commented_once(repository):
    job, outputs = repository.job(prompt="")
    assert (job.failed, outputs["verdict"]) == (True, "fail")
    (suite,) = JUnitXml.fromstring(Path(outputs["junit"]).read_bytes())
    assert suite.failures >= 1
    first = repository.bodies[-1]
    assert len(repository.bodies) == 2
    assert job.summary in first
    assert "Fails: " in cmarkgfm.github_flavored_markdown_to_html(first)

    job, outputs = repository.job(prompt=" Anything with money is billing.")
    assert (job.failed, outputs["verdict"]) == (False, "pass")
    assert len(repository.bodies) == 2
    assert repository.bodies[0] == "Nice."
    assert "### Passes" in repository.bodies[-1]


@pytest.mark.long
def test_a_fork_is_compared_without_a_comment_and_nothing_is_asked_twice(repository):
    job, outputs = repository.job(pull=FORKED)
    assert outputs["verdict"] == "pass"
    assert "0 answers collected" in job.log
    assert "Comment" not in job.ran
    assert job.summary.startswith("### Passes")
    assert repository.bodies == ["Nice."]


@pytest.mark.long
def test_a_fork_without_keys_is_skipped(repository):
    job, outputs = repository.job(prompt="", pull=FORKED, function="")
    assert (job.failed, outputs["verdict"]) == (False, "skipped")
    (notice,) = commands_in(job.log)
    assert notice.name == "notice"
    job, outputs = repository.job(prompt="", function="")
    assert job.failed


@pytest.mark.long
def test_without_a_bound_nothing_passes(repository):
    job, outputs = repository.job(prompt="", comment="false", **{"fail-if": ""})
    assert (job.failed, outputs["verdict"]) == (False, "reported")
    assert job.summary.startswith("### Reported only")


def test_the_action_installs_its_own_checkout(tmp_path):
    action = YAML(typ="safe").load(_text(ROOT / "action.yml"))
    (step,) = [one for one in action["runs"]["steps"] if one["name"] == "Install Quaver"]
    (tmp_path / "python").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "python").chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": "/actions/quaver",
        "REQUIREMENT": action["inputs"]["install"]["default"],
    }
    done = subprocess.run(
        ["bash", "-e", "-c", step["run"]], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-2:] == ["--", "/actions/quaver"]


@pytest.mark.long
def test_other_peoples_code_with_the_repositorys_secrets_is_refused(repository):
    job, _ = repository.job(event="pull_request_target")
    assert job.failed
    assert job.ran == ["Find the study"]


@pytest.mark.long
def test_without_a_baseline_it_says_what_to_do(tmp_path):
    job, _ = Repository(tmp_path).job()
    assert job.failed
    assert any("default branch" in one.message for one in commands_in(job.log))


@needs_jq
@pytest.mark.parametrize("forbidden", ["GET", "POST"])
def test_a_comment_that_may_not_be_written_fails_nothing(tmp_path, forbidden):
    (tmp_path / "comment.md").write_text("### Passes\n")
    steps = {
        "names": {"out": str(tmp_path), "key": "0123", "mode": "compare", "folder": "prompts/tickets"},
        "compare": {"verdict": "pass"},
    }
    repository = Repository(tmp_path)
    job, _ = repository.job(environment={"FAKE_GH_FORBIDS": forbidden}, steps=steps)
    assert (job.failed, job.ran[-1]) == (False, "Comment")
    (warning,) = commands_in(job.log)
    assert warning.name == "warning"
    assert repository.bodies == ["Nice."]


@pytest.mark.long
@needs_jq
def test_nothing_of_a_pull_request_breaks_out(repository):
    tickets = _text(EXAMPLE / "tickets.csv").splitlines()
    evil = "$(touch hacked)`touch hacked`|::error::no|##[error]no|</details>|@all"
    rows = [
        line.replace(line.partition(",")[0], f"{evil}{number}", 1) if number else line
        for number, line in enumerate(tickets)
    ]
    job, outputs = repository.job(
        prompt=" Anything.", baseline="", files={"tickets.csv": "\n".join(rows), **_hostile_study()}
    )
    assert outputs["verdict"] == "fail", job.log
    assert not list(repository.folder.rglob("hacked"))
    assert {one.name for one in commands_in(job.log)} <= {"error", "warning", "notice"}
    assert not any(one.message == "no" for one in commands_in(job.log))
    html = cmarkgfm.github_flavored_markdown_to_html(
        repository.bodies[-1], options=cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE
    )
    assert html.count("</details>") == html.count("<details>") == 2


def _hostile_study():
    """The study with a prompt that makes the model worse, under a name that would be a command."""
    study = _text(EXAMPLE / "prompts" / "tickets.yaml")
    name = "::error::no"
    return {
        "prompts/tickets.yaml": study
        + f"variants:\n  - {{use: instructions, texts: {{'{name}': 'What is this ticket about?'}}}}\n"
    }


def test_the_workflow_asks_for_the_least(tmp_path):
    workflow = YAML(typ="safe").load(_text(EXAMPLE / ".github/workflows/prompts.yml"))
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "pull_request_target" not in _text(EXAMPLE / ".github/workflows/prompts.yml")
    for step in job["steps"]:
        name, _, version = step["uses"].partition("@")
        assert "quaver" in name or len(version) == 40


def test_the_example_is_that_of_the_tutorial(tmp_path):
    shown = files_of("tutorials/ci.md")
    for name in ("model.py", "prompts/tickets.yaml", "test_prompts.py"):
        assert _text(EXAMPLE / name) == shown[name]
    (tmp_path / "tickets.py").write_text(shown["tickets.py"])
    subprocess.run([sys.executable, "tickets.py"], cwd=tmp_path, check=True)
    assert _text(tmp_path / "tickets.csv") == _text(EXAMPLE / "tickets.csv")
