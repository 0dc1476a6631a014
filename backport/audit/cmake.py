"""Which files the lists of a CMake file name: sources, and nothing that a command may make."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(
    r"#\[(=*)\[.*?\]\1\]|#[^\n]*"  # comments
    r"|\[(=*)\[.*?\]\2\]"  # text in brackets
    r'|(?P<quoted>"(?:[^"\\]|\\.)*")'
    r"|(?P<opens>(?P<name>\w*)[ \t]*\()|(?P<closes>\))"
    r'|(?P<word>[^\s()"#]+)',
    re.DOTALL,
)
_LISTS = re.compile(
    r"set |list (APPEND|INSERT|PREPEND) |\w*add_library |add_executable |target_sources "
    r"|define_\w+_target |\w+_extension_target ",
    re.IGNORECASE,
)
_MAKES = re.compile(
    r"add_custom_|configure_file |execute_process |file (?!READ |STRINGS |GLOB)|hipify"
    r"|list TRANSFORM |string ",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w.+/-]+")
_PATH = re.compile(r"[\w+-][\w.+-]*(?:/[\w.+-]+)+\.(?:c|cc|cpp|cxx|cu|cuh|h|hip|hpp|mm)")


class Named(NamedTuple):
    """A path that a list names, and where its text begins."""

    place: int
    path: str


class _Command(NamedTuple):
    """A command with its arguments: their places and their texts, quotes taken off."""

    name: str
    arguments: list[tuple[int, str]]

    @property
    def head(self) -> str:
        """The name and the first argument, by which commands are told apart."""
        return f"{self.name} {self.arguments[0][1] if self.arguments else ''} "

    @property
    def variable(self) -> str:
        """What the command gives a value, where it is `set` or `list`."""
        number = {"set": 0, "list": 1}.get(self.name.lower(), len(self.arguments))
        return self.arguments[number][1] if number < len(self.arguments) else ""


def listed(text: str) -> Iterator[Named]:
    """The native sources that the lists of a CMake file name.

    Read are `set`, `list(APPEND)` and the commands that declare targets. What some command
    of the file may write, generate or rename is left out, as is a list that one changes.
    """
    commands = list(_commands(text))
    made = {
        word
        for command in commands
        if _MAKES.match(command.head)
        for _, argument in command.arguments
        for word in _WORD.findall(argument)
    }
    for command in commands:
        if _LISTS.match(command.head) and command.variable not in made:
            for place, argument in command.arguments:
                for part in re.finditer("[^;]+", argument):
                    if _PATH.fullmatch(part[0]) and part[0] not in made:
                        yield Named(place + part.start(), part[0])


def _commands(text: str) -> Iterator[_Command]:
    command, depth = _Command("", []), 0
    for token in _TOKEN.finditer(text):
        if token["opens"]:
            depth += 1
            if depth == 1:
                command = _Command(token["name"], [])
        elif token["closes"]:
            if depth == 1:
                yield command
            depth = max(depth - 1, 0)
        elif token["quoted"]:
            command.arguments.append((token.start() + 1, token["quoted"][1:-1]))
        elif token["word"]:
            command.arguments.append((token.start(), token["word"]))
