"""What a task's YAML may set under `lmms_eval_specific_kwargs`, and the prompt that it chooses."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from lmms_aes_tasks.utils.prompts import Prompt, read_prompt

PROMPTS = Path(__file__).parent / "prompts"
_Settings = TypeVar("_Settings")
_KINDS: Mapping[Any, tuple[type, str]] = {
    bool: (bool, "true or false"),
    str: (str, "a text"),
    str | None: (str, "a text"),
}


def read_settings(kind: type[_Settings], kwargs: Mapping[str, Any] | None) -> _Settings:
    """Settings of a benchmark; what is not named has its default.

    The harness hands over the block of the running model alone, or the whole mapping with the `default` block merged
    into it: entries that are mappings are other models' blocks.

    Args:
        kind: A frozen dataclass with a default for each setting.
        kwargs: What the harness hands over.

    Raises:
        ValueError: An unknown setting, or a truth value or text of the wrong type; other values are checked where
            they are used.
    """
    given = {key: value for key, value in (kwargs or {}).items() if not isinstance(value, Mapping)}
    known = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"unknown setting {', '.join(unknown)} in lmms_eval_specific_kwargs: use {', '.join(known)}")
    hints = get_type_hints(kind)
    for name, value in given.items():
        wanted, words = _KINDS.get(hints[name], (object, ""))
        if not isinstance(value, wanted) and not (value is None and hints[name] == str | None):
            raise ValueError(f"{name} is {value!r}: use {words}")
    return kind(**given)


def load_prompt(prompt_id: str, prompt_file: str | None, required: tuple[str, ...]) -> Prompt:
    """Our prompt, or a user's file in its place; its id and SHA-256 are logged once a state of the file.

    Args:
        prompt_id: Name of a file in `prompts/`, without its ending.
        prompt_file: The user's file; None for ours.
        required: Placeholders that must occur.

    Raises:
        PromptError: A user's file cannot be used.
    """
    path = PROMPTS / f"{prompt_id}.txt" if prompt_file is None else Path(prompt_file).expanduser()
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    return _prompt_of(path, prompt_id if prompt_file is None else None, required, changed)


@functools.lru_cache(maxsize=32)
def _prompt_of(path: Path, prompt_id: str | None, required: tuple[str, ...], changed: int) -> Prompt:
    """A prompt, read once for each state of its file: it is asked for with every document."""
    from loguru import logger

    prompt = read_prompt(path, required) if prompt_id is None else read_prompt(path, required, prompt_id)
    logger.info(f"lmms-aes-tasks: prompt {prompt.id}, sha256 {prompt.sha256}")
    return prompt
