"""Prompt templates: reading, identifying by hash, filling in. What a template says is in `lmms_aes_tasks/prompts/`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_aes_tasks.utils.errors import AesError

MAX_PROMPT_BYTES = 100_000
"""Largest prompt file that is read; a prompt is a page of text, anything larger is the wrong file."""


class PromptError(AesError, ValueError):
    """A prompt file that cannot be used; the message says what to change."""


@dataclass(frozen=True)
class Prompt:
    """A template with `{name}` placeholders.

    Attributes:
        id: Its name in results: `contextcanvas-1` for ours, `file:<file name>` for a user's.
        text: The template.
    """

    id: str
    text: str

    @property
    def sha256(self) -> str:
        """SHA-256 of the template's UTF-8 bytes, in hexadecimal: what distinguishes two wordings in results."""
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()

    def render(self, fields: Mapping[str, str]) -> str:
        """Fill the placeholders in one pass: braces inside the values, or elsewhere in the template, stay as they are.

        >>> Prompt("p", 'Q: {question} Reply {"answer": "A"}').render({"question": "Is {this} it?"})
        'Q: Is {this} it? Reply {"answer": "A"}'
        """
        pattern = "|".join(re.escape(name) for name in fields)
        return re.sub(rf"\{{({pattern})\}}", lambda match: fields[match.group(1)], self.text)

    def recognises(self, text: str) -> bool:
        """Whether a text is this template, filled in with anything.

        >>> Prompt("p", "Q: {question}!").recognises("Q: Is it?!")
        True
        """
        parts = re.split(r"\{[a-z_]+\}", self.text)
        position = 0
        for number, part in enumerate(parts):
            found = text.startswith(part) if number == 0 else text.find(part, position) >= 0
            if not found:
                return False
            position = text.find(part, position) + len(part)
        return text.endswith(parts[-1])


def read_prompt(path: Path, required: Iterable[str], prompt_id: str | None = None) -> Prompt:
    """Read a template and check that it has its placeholders.

    Line ends are normalised to LF and one final newline is dropped, so that the same wording has the same hash
    whatever editor wrote it.

    Args:
        path: A UTF-8 text file of at most `MAX_PROMPT_BYTES`.
        required: Placeholder names that must occur, for example `question`.
        prompt_id: Its id in results; `file:<name>` when None.

    Raises:
        PromptError: The file is missing, too large, not UTF-8, or lacks a placeholder.
    """
    if not path.is_file():
        raise PromptError(
            f"prompt_file {str(path)!r} is not a file. Give the path of a text file, or null for our prompt."
        )
    size = path.stat().st_size
    if size > MAX_PROMPT_BYTES:
        raise PromptError(
            f"prompt_file {str(path)!r} has {size} bytes, {MAX_PROMPT_BYTES} are allowed. Is it the right file?"
        )
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise PromptError(f"prompt_file {str(path)!r} is not UTF-8 ({error}). Save it as UTF-8.") from None
    text = text.replace("\r\n", "\n").removesuffix("\n")
    missing = [name for name in required if f"{{{name}}}" not in text]
    if missing:
        wanted = ", ".join(f"{{{name}}}" for name in missing)
        raise PromptError(f"prompt_file {str(path)!r} lacks {wanted}. Put each placeholder where its text belongs.")
    return Prompt(prompt_id or f"file:{path.name}", text)
