"""The arguments that commands share, and those that they take from a record of options."""

from __future__ import annotations

import csv
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from quaver.core.options import Option, options_in
from quaver.core.records import Level
from quaver.core.response_validation import error_line
from quaver.errors import QuaverError, UnknownName

if TYPE_CHECKING:
    from quaver.study.session import Study

HERE = Path("study.yaml")
"""The study of a command that names none."""

StudyArgument = Annotated[Path, typer.Argument(help="The study file, its folder, or a bundle.")]
FileArgument = Annotated[Path, typer.Argument()]
FolderArgument = Annotated[Path | None, typer.Argument()]
NameArgument = Annotated[str | None, typer.Argument()]
FunctionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--function", help="NAME=MODULE:FUNCTION for a model that is a Python function.", metavar="NAME=M:F"
    ),
]
FieldOption = Annotated[
    str | None,
    typer.Option("--field", help="Only this field, where the task has several.", metavar="FIELD"),
]
FileOption = Annotated[Path | None, typer.Option(metavar="FILE")]
FolderOption = Annotated[Path | None, typer.Option(metavar="FOLDER")]
ItemsOption = Annotated[list[str] | None, typer.Option(metavar="ID")]
NumberOption = Annotated[int | None, typer.Option(min=1)]
PortOption = Annotated[int | None, typer.Option(min=1, max=65535)]
ShareOption = Annotated[float, typer.Option(min=0.0, max=1.0)]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]
LevelOption = Annotated[
    Level, typer.Option(help="Level of measurement; jaccard or masi for cells such as a;b.")
]


def separator_of(option: str | None) -> str | None:
    """The separator that an option names; a shell passes a tab as two characters."""
    return "\t" if option == r"\t" else option


def parts(text: str | None, option: str) -> tuple[str, ...]:
    """The parts of an option's value; one that holds a comma stands in double quotes.

    >>> parts('left, "right, far"', "--labels")
    ('left', 'right, far')
    """
    if text is None:
        return ()
    try:
        parts = next(csv.reader([text], skipinitialspace=True, strict=True), [])
    except csv.Error:
        parts = []
    parts = [part.strip() for part in parts]
    if not parts or not all(parts):
        raise QuaverError(
            "this is not a list",
            where=option,
            expected='names separated by commas; a name that contains a comma in double quotes: a,"b, c"',
            found=text,
        )
    return tuple(parts)


def with_options(record: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command take the options of a record (`core.options`) beside its own.

    A list is given as ``a,b,c``, or by an option that is repeated.
    """
    options = options_in(record)

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            for name, (kind, option) in options.items():
                given[name] = _value(f"--{name.replace('_', '-')}", kind, option, given[name])
            if "separator" in given:
                given["separator"] = separator_of(given["separator"])
            command(**given)

        positional, named = [], []
        for parameter in inspect.signature(command, eval_str=True).parameters.values():
            if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD:
                positional.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
            elif parameter.kind is Parameter.KEYWORD_ONLY:
                named.append(parameter)
        taken = [_parameter(name, kind, option) for name, (kind, option) in options.items()]
        parameters = [*positional, *taken, *named]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorated


def _parameter(name: str, kind: Any, option: Option) -> Parameter:
    """A command's parameter for an option; what is one of several words is checked by the function."""
    choices = get_args(kind)
    shown, default, sign = kind, option.default, None
    if _is_list(kind):
        shown, default, sign = list[str] | None, None, "a,b,c"
    elif kind is Any or any(get_origin(choice) is Literal for choice in choices):
        shown = str | None
    elif Path in choices:
        shown = Path | None
    asked = typer.Option(*option.flags, help=option.help, min=option.least, max=option.most, metavar=sign)
    hint = Annotated[shown, asked]  # type: ignore[valid-type]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _is_list(kind: Any) -> bool:
    return any(get_origin(part) is Sequence for part in (kind, *get_args(kind)))


def _value(flag: str, kind: Any, option: Option, given: Any) -> Any:
    """What is given for an option, which must exceed its bound: typer knows no such bounds."""
    if _is_list(kind):
        return [part for text in given or () for part in parts(text, flag)] or option.default
    words = [word for choice in get_args(kind) if get_origin(choice) is Literal for word in get_args(choice)]
    if words and given is not None and given not in words:
        raise UnknownName("choice", given, words, where=flag)
    if option.above is not None and given is not None and given <= option.above:
        raise QuaverError(
            "this option does not fit", where=flag, expected=f"more than {option.above:g}", found=f"{given:g}"
        )
    return given


def open_study(
    path: Path,
    functions: Sequence[str] | None = None,
    *,
    small: bool = False,
    field: str | None = None,
) -> Study:
    """The study of a command's argument, its small version or a field, with its functions."""
    from quaver.study.session import Study

    return Study.open(path, functions=functions_of(functions), small=small, field=field)


def studies_of(
    path: Path, functions: Sequence[str] | None, *, small: bool = False, field: str | None = None
) -> dict[str, Study]:
    """The studies that a file lists, by name; a study by itself, unnamed."""
    from quaver.study.sources.opening import list_of_studies

    if list_of_studies(path) is None:
        return {"": open_study(path, functions, small=small, field=field)}
    from quaver.study.session import open_studies  # few files list studies

    studies = open_studies(path, functions=functions_of(functions), small=small)
    return {name: study.fields[field] if field else study for name, study in studies.items()}


def open_fields(path: Path, functions: Sequence[str] | None, field: str | None) -> dict[str, Study]:
    """A study's fields by name, each as a study of its own; one alone, and a study without any, unnamed."""
    opened = open_study(path, functions, field=field)
    return opened.fields or {"": opened}


def study_file(path: Path) -> str:
    """The study file behind a command's argument, as CI services link to it; empty for a bundle.

    In GitHub Actions it is named from the repository's root, wherever the command runs.
    """
    file = path / HERE if path.is_dir() else path
    if file.suffix not in (".yaml", ".yml") or not file.is_file():
        return ""
    root = os.environ.get("GITHUB_WORKSPACE")
    if root and file.resolve().is_relative_to(Path(root).resolve()):
        file = file.resolve().relative_to(Path(root).resolve())
    return file.as_posix()


def open_both(
    first: Path, second: Path | None, functions: Sequence[str] | None, field: str | None = None
) -> tuple[Study, Study | None]:
    """Two studies to compare, or one field of each, each with the functions of its own models."""
    from quaver.study.session import Study

    given = functions_of(functions)
    if second is None:
        return Study.open(first, functions=given, field=field), None
    opened, names = [], set[str]()
    for path in (first, second):
        study = Study.open(path, field=field)
        models = {model.name for model in study.spec.models}
        names |= models
        if own := {name: function for name, function in given.items() if name in models}:
            study = Study.open(path, functions=own, field=field)
        opened.append(study)
    for name in given:
        if name not in names:
            raise UnknownName("model", name, sorted(names), where="--function")
    return opened[0], opened[1]


def functions_of(options: Sequence[str] | None) -> dict[str, Any]:
    """The functions that a command's options name, by the model's name."""
    result = {}
    for option in options or ():
        name, _, target = option.rpartition("=")
        if not name:
            raise _no_function(option, "NAME=MODULE:FUNCTION")
        result[name] = function_of(target)
    return result


def function_of(target: str) -> Any:
    """The function that an option names, from a module that may lie in the current folder."""
    module, _, attribute = target.partition(":")
    if not (module and attribute):
        raise _no_function(target, "MODULE:FUNCTION")
    sys.path.insert(0, str(Path.cwd()))
    try:
        result = getattr(importlib.import_module(module.removesuffix(".py")), attribute)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # the module is a user's: it may exit, or hold a byte that is no Python
        why = str(error) if isinstance(error, ImportError | AttributeError) else error_line(error)
        raise QuaverError(
            "the function cannot be imported",
            where="--function",
            expected="a module in this folder, or an installed one, as Python imports it: my_model:annotate",
            found=f"{target}: {why}",
            fix="check both names, and run the command in the folder of the module's file",
        ) from error
    finally:
        sys.path.pop(0)
    if not callable(result):
        raise _no_function(f"{target}, a {type(result).__name__}", "MODULE:FUNCTION")
    return result


def _no_function(found: str, expected: str) -> QuaverError:
    return QuaverError("this names no function", where="--function", expected=expected, found=found)
