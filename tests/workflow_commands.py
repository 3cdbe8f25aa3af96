"""Reads a log as GitHub's runner does: which of its lines are commands, and what they say.

Written from the documented format (docs.github.com, "Workflow commands for GitHub Actions") and the runner's
rules: a command begins a line, ``::name key=value,key=value::message``; in its older form it may stand
anywhere, ``##[name key=value;…]message``.
"""

from dataclasses import dataclass, field

COMMANDS = frozenset(
    [
        *("error", "warning", "notice", "debug", "group", "endgroup", "add-mask", "stop-commands", "echo"),
        *("set-output", "save-state", "set-env", "add-path", "add-matcher", "remove-matcher"),
    ]
)


@dataclass
class Command:
    """One command."""

    name: str
    message: str
    properties: dict[str, str] = field(default_factory=dict)


def commands_in(log):
    """The commands of a log."""
    lines = log.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [found for line in lines if (found := _newer(line) or _older(line)) is not None]


def _newer(line):
    line = line.lstrip()
    if not line.startswith("::"):
        return None
    info, separator, message = line[2:].partition("::")
    name, _, given = info.partition(" ")
    if not separator or name not in COMMANDS:
        return None
    return Command(name, _unescaped(message), _properties(given, ",", {":": "%3A", ",": "%2C"}))


def _older(line):
    _, prefix, rest = line.partition("##[")
    info, closing, message = rest.partition("]")
    name, _, given = info.partition(" ")
    if not prefix or not closing or name not in COMMANDS:
        return None
    return Command(name, _unescaped(message, {";": "%3B", "]": "%5D"}), _properties(given, ";", {}))


def _properties(given, separator, more):
    pairs = (part.partition("=") for part in given.strip().split(separator) if part)
    return {name: _unescaped(value, more) for name, _, value in pairs if value}


def _unescaped(text, more=None):
    for character, escape in ({"\r": "%0D", "\n": "%0A"} | (more or {}) | {"%": "%25"}).items():
        text = text.replace(escape, character)
    return text
