"""Functions that a command line names, such as ``mine=module:annotate``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quaver.core.response_validation import error_line
from quaver.errors import QuaverError


def functions_of(options: Sequence[str] | None) -> dict[str, Any]:
    """The functions that a command's options name, by the model's name."""
    result = {}
    for option in options or ():
        name, _, target = option.rpartition("=")
        if not name:
            raise _no_function(option, "NAME=MODULE:FUNCTION")
        result[name] = function_of(target, "NAME=MODULE:FUNCTION")
    return result


def function_of(target: str, expected: str = "MODULE:FUNCTION") -> Any:
    """The function that an option names, from a module that may lie in the current folder."""
    module, _, attribute = target.partition(":")
    if not (module and attribute):
        raise _no_function(target, expected)
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
        raise _no_function(f"{target}, a {type(result).__name__}", expected)
    return result


def _no_function(found: str, expected: str) -> QuaverError:
    return QuaverError("this names no function", where="--function", expected=expected, found=found)
