"""Text from patches and commits, made safe for a screen."""

from __future__ import annotations

import unicodedata

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def visible(text: str) -> str:
    """The text with control and direction-changing characters written out as escapes.

    What a patch's subject or path holds must not move the cursor, change colours
    or turn the reading order of the terminal that shows it.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def counted(number: int, word: str, words: str = "") -> str:
    """The number with its word, `words` being what several are called."""
    return f"{number} {word if number == 1 else words or f'{word}s'}"


def _shown(char: str) -> str:
    if char == "\n" or unicodedata.category(char) not in _HIDDEN:
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
