"""Runs a composite action as GitHub's runner does: expressions, shell steps for real, a cache in a folder."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from tests import forked

_TOKEN = re.compile(r"\s*(?:('(?:[^']|'')*')|(&&|\|\||==|!=|!|[(),])|([A-Za-z_][\w.-]*)|(\d+))")
_WORDS = {"&&": " and ", "||": " or ", "!": " not ", "==": " == ", "!=": " != "}


@dataclass
class Job:
    """A job on a runner.

    Attributes:
        workspace: The checkout.
        cache: Where the cache of the repository lies, for as many jobs as share it.
        github: The ``github`` context, as nested mappings.
        environment: What the steps find beside their own variables.
    """

    workspace: Path
    cache: Path
    github: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    summary: str = ""
    failed: bool = False
    ran: list[str] = field(default_factory=list)

    def use(self, action, inputs, steps=None):
        """Run the action; its outputs.

        Args:
            action: Its file.
            inputs: Its inputs.
            steps: The outputs of steps that ran already; the first that is not among them comes first.
        """
        described = YAML(typ="safe").load(action.read_text(encoding="utf-8"))
        unknown = set(inputs) - set(described["inputs"])
        assert not unknown, f"no such inputs: {unknown}"
        context = {"github": self.github, "steps": {}, "inputs": {}}
        context["inputs"] = {
            name: inputs.get(name, self._filled(str(one.get("default", "")), context))
            for name, one in described["inputs"].items()
        }
        todo = list(enumerate(described["runs"]["steps"]))
        if steps:
            context["steps"] = {name: {"outcome": "success", "outputs": dict(o)} for name, o in steps.items()}
            todo = todo[1 + max(number for number, step in todo if step.get("id") in steps) :]
        for number, step in todo:
            self._step(step, context, number)
        return {name: self._filled(one["value"], context) for name, one in described["outputs"].items()}

    def _step(self, step, context, number):
        outcome = {"outcome": "skipped", "outputs": {}}
        context["steps"][step.get("id", f"step-{number}")] = outcome
        asked = str(step.get("if", "success()"))
        if self.failed and "always()" not in asked:
            return
        if not self._value(asked.removeprefix("${{").removesuffix("}}"), context):
            return
        self.ran.append(step["name"])
        with_ = {name: self._filled(str(one), context) for name, one in step.get("with", {}).items()}
        if "uses" in step:
            self._cached(step["uses"], with_)
            outcome["outcome"] = "success"
            return
        done = self._shell(step, context, outcome)
        outcome["outcome"] = "failure" if done else "success"
        self.failed = self.failed or bool(done)

    def _shell(self, step, context, outcome):
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an expression in a script is code"
        script, output, summary = (self.workspace.parent / name for name in ("step.sh", "output", "summary"))
        script.write_text(step["run"], encoding="utf-8")
        output.write_text("")
        summary.write_text("")
        runner = {
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.workspace.parent),
            "PATH": f"{forked.path_of_commands()}{os.pathsep}{os.environ['PATH']}",
        }
        own = {name: self._filled(str(value), context) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={**os.environ, **runner, **self.environment, **own},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        self.log += done.stdout
        self.summary += summary.read_text(encoding="utf-8")
        outcome["outputs"] = dict(
            line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines() if "=" in line
        )
        return done.returncode

    def _cached(self, uses, with_):
        """``actions/cache/save`` and ``actions/cache/restore``, the newest entry first."""
        name, _, commit = uses.partition("@")
        assert re.fullmatch(r"[0-9a-f]{40}", commit), "an action is pinned by its commit"
        patterns = [line.strip() for line in with_["path"].splitlines() if line.strip()]
        self.cache.mkdir(exist_ok=True)
        if name == "actions/cache/save":
            entry = self.cache / f"{len(list(self.cache.iterdir())):03}!{with_['key']}"
            for pattern in patterns:
                for file in self.workspace.glob(pattern):
                    (entry / file.relative_to(self.workspace)).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(file, entry / file.relative_to(self.workspace))
            return
        assert name == "actions/cache/restore"
        prefixes = [with_["key"], *with_.get("restore-keys", "").split()]
        for entry in sorted(self.cache.iterdir(), reverse=True):
            if any(entry.name.partition("!")[2].startswith(prefix) for prefix in prefixes):
                shutil.copytree(entry, self.workspace, dirs_exist_ok=True)
                return

    def _filled(self, text, context):
        """A text with its expressions evaluated."""
        return re.sub(r"\$\{\{(.*?)\}\}", lambda one: _printed(self._value(one[1], context)), text)

    def _value(self, expression, context):
        """The value of an expression of GitHub's."""
        python, at = "", 0
        expression = expression.strip()
        while at < len(expression):
            match = _TOKEN.match(expression, at)
            assert match, f"not an expression: {expression[at:]}"
            text, sign, name, number = match.groups()
            at = match.end()
            if text is not None:
                python += repr(text[1:-1].replace("''", "'"))
            elif sign is not None:
                python += _WORDS.get(sign, sign)
            elif number is not None:
                python += number
            else:
                python += name if expression[at : at + 1] == "(" else f"of({name!r})"
        names = {
            "of": lambda name: _looked_up(name, context),
            "always": lambda: True,
            "success": lambda: not self.failed,
            "hashFiles": self._hash,
        }
        return eval(python, {"__builtins__": {}}, names)

    def _hash(self, pattern):
        files = sorted(self.workspace.glob(pattern))
        return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest() if files else ""


def _looked_up(name, context):
    found = context
    for part in name.split("."):
        found = found.get(part, "") if isinstance(found, Mapping) else ""
    return found


def _printed(value):
    return (
        {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else f"{value or ''}"
    )
