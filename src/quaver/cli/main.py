"""``quaver``: the commands, together."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import wraps
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from shutil import get_terminal_size
from typing import Annotated, Any, get_origin

import typer
from typer.core import TyperGroup

import quaver
from quaver.cli.console import about, errors, for_programs, in_lines, log, say, screen, whole
from quaver.errors import QuaverError, on_the_command_line

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Start": {
        "start": "starting",
        "check": "checking",
        "label": "checking",
        "demo": "checking",
        "init": "starting",
        "import": "starting",
    },
    "Make and run": dict.fromkeys(("variants", "plan", "run", "status", "watch"), "making"),
    "Look and use": {
        "measure": "measuring",
        "report": "measuring",
        "view": "starting",
        "compare": "deciding",
        "gold": "deciding",
        "accept": "deciding",
        "rescore": "measuring",
        "agreement": "measuring",
    },
    "Share and check": dict.fromkeys(("paper", "table", "figure", "export", "bundle", "verify"), "sharing"),
    "Extend": {"schema": "sharing"},
}
"""The commands under their headings in the help, each with its module; its function is NAME_command there."""

MODULES: Mapping[str, str] = {name: module for group in GROUPS.values() for name, module in group.items()}
COMMANDS = tuple(MODULES)
EVERYDAY = (
    *("start", "check", "label", "demo", "init", "import", "plan", "run", "status"),
    *("report", "view", "compare", "gold", "bundle", "verify"),
)
"""What ``quaver --help`` shows; ``quaver help --all`` shows every command."""
_WIDTH = max(map(len, COMMANDS))
_COMPLETION = "_QUAVER_COMPLETE"
"""The variable by which a shell asks for completions."""


class _Grouped(TyperGroup):
    """Shows the commands under their headings, each with a whole sentence."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as wrong:
            from pydantic import ValidationError  # few command lines are wrong

            from quaver.core.arguments import expectation

            if not isinstance(wrong.__cause__, ValidationError) or wrong.param is None:
                raise
            complaints = wrong.__cause__.errors()
            raise QuaverError(
                "this option does not fit",
                where=max(wrong.param.opts, key=len),
                expected=expectation(complaints).rpartition("is not ")[2].rstrip("."),
                found=str(complaints[0]["input"]),
            ) from None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for title, names in GROUPS.items():
            commands = {name: self.get_command(ctx, name) for name in names}
            if not any(commands.values()):
                continue
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (name.ljust(_WIDTH), command.short_help)
                        for name, command in commands.items()
                        if command is not None
                    ]
                )


def app(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The program with these commands; the modules of others are not loaded."""
    result = typer.Typer(
        name="quaver",
        cls=_Grouped,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog="`quaver help --all` shows every command, `quaver COMMAND --help` explains one and shows "
        "examples. After `quaver --install-completion`, the Tab key completes commands and options.",
    )
    result.callback()(_options)
    for name in commands:
        function = function_of(name)
        text, examples = _explained(function)
        first = text.partition(".")[0] + "."
        command = for_programs_too(function)
        result.command(name=name, help=text, short_help=first, epilog=examples)(command)
    return result


_STUDIES = ("study", "after", "before")
"""What arguments that name a study are called."""

_JSON = {
    "as_json": ("--json", "Print JSON, whose schema `quaver schema COMMAND` prints."),
    "log_json": ("--log-json", "Write progress, notes and errors as a line of JSON each."),
}
"""The options that every command takes."""


def for_programs_too(function: Callable[..., None]) -> Callable[..., None]:
    """The command with the options by which other programs use it."""

    @wraps(function)
    def run(*, as_json: bool, log_json: bool, **given: Any) -> None:
        with for_programs(as_json, log_json):
            try:
                studies = [given[name] for name in _STUDIES if isinstance(given.get(name), Path)]
                for study in studies:
                    about(study, given.get("function"))
                function(**given)
            except KeyboardInterrupt:
                say("Interrupted; run the same command to continue.", on=errors)
                raise typer.Exit(130) from None
            except QuaverError as error:
                for study in studies:  # of two that are compared, the one that the error is about
                    if error.where in (str(study), str(study.parent)):
                        about(study, given.get("function"))
                error.fix = error.fix and whole(error.fix)
                if not log_json:
                    raise
                parts = ("where", "problem", "expected", "found", "fix")
                log("error", kind=type(error).__name__, **{name: getattr(error, name) for name in parts})
                raise typer.Exit(2) from None

    signature = inspect.signature(function)
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, shown])
        for name, (flag, text) in _JSON.items()
        for shown in [typer.Option(flag, help=text)]
    ]
    parameters = [
        parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in signature.parameters.values()
    ]
    run.__signature__ = inspect.Signature([*parameters, *more])  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, *more)}
    return run


def function_of(name: str) -> Callable[..., None]:
    """The function of a command, whose module is loaded."""
    module = import_module(f"quaver.cli.{MODULES[name]}")
    function: Callable[..., None] = getattr(module, f"{name}_command")
    return function


_SECTION = re.compile(r"\n\n(?=(?:Options|Examples):\n)")
_ENTRY = re.compile(r"^  (\w+): ", re.MULTILINE)


def _explained(function: Callable[..., None]) -> tuple[str, str | None]:
    """A command's help and its examples, both from its docstring, which explains the options too."""
    text, *others = _SECTION.split(inspect.cleandoc(function.__doc__ or ""))
    sections = {title: body for title, _, body in (section.partition(":\n") for section in others)}
    _, *entries = _ENTRY.split(sections.get("Options", ""))
    _explain(function, dict(zip(entries[::2], entries[1::2], strict=True)))
    width = min(80, get_terminal_size().columns) - 4  # an example is indented
    examples = "\n".join(
        line if len(line) <= width + 2 else "  " + in_lines(line.strip(), width).replace("\n", "\n  ")
        for line in sections.get("Examples", "").split("\n")
    )
    return text, f"\b\nExamples:\n{examples}" if examples else None  # \b: line by line


def _explain(function: Callable[..., None], entries: Mapping[str, str]) -> None:
    """Give a command's options their help, and those that are true or false a flag without its opposite."""
    parameters = []
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        kind, shown = parameter.annotation, typer.Option()
        if get_origin(kind) is Annotated:
            kind, shown = kind.__origin__, copy(kind.__metadata__[0])
        shown.help = shown.help or " ".join(entries[name].split())
        if (kind is bool or name.endswith("_")) and shown.default is ...:  # there stands the first flag
            shown.default = f"--{name.strip('_').replace('_', '-')}"
        parameters.append(parameter.replace(annotation=Annotated[kind, shown]))
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def _show_version(wanted: bool) -> None:
    if wanted:
        screen.print(f"quaver {quaver.__version__}")
        raise typer.Exit


def _options(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version."),
    ] = False,
) -> None:
    """Measure how far you can trust the labels that a language model gives to texts."""
    context.with_resource(on_the_command_line())


def main() -> None:
    """Run a command; a user's error is one message and exit status 2."""
    first, *others = [*_words()[1:], ""]
    try:
        if first == "help":
            asked = [name for name in others if name in COMMANDS]
            app(asked or (COMMANDS if "--all" in others else EVERYDAY))(
                [*asked[:1], "--help"], prog_name="quaver"
            )
        elif first in COMMANDS:
            app([first])(prog_name="quaver")
        else:
            few = first in ("", "--help", "--version") and _COMPLETION not in os.environ
            app(EVERYDAY if few else COMMANDS)(prog_name="quaver")
    except QuaverError as error:
        say(f"Error: {error}", on=errors, style="red")
        sys.exit(2)


def _words() -> list[str]:
    """The words of the command line: those that a shell completes, or those that were given."""
    if _COMPLETION not in os.environ:
        return sys.argv
    return os.environ.get("_TYPER_COMPLETE_ARGS", os.environ.get("COMP_WORDS", "")).split()
