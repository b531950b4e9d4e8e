"""Model arguments as they may be pasted into an issue: without the values of keys, tokens, secrets and passwords."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from lmms_aes_tasks.utils.key_shapes import without_keys

HIDDEN = "…"
_SECRET_ENDS = ("key", "keys", "token", "secret", "secrets", "password", "passwd", "passphrase")
_SECRET_WORDS = frozenset({"pwd", "pass", "auth", "authorization", "bearer", "cookie", "credential", "credentials"})
_SPECIAL_TOKENS = frozenset({"pad", "eos", "bos", "unk", "mask", "image", "video", "stop", "special", "per"})
"""Before `token`: settings about tokens of text."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_USER = re.compile(r"(?<=://)[^/\s]*(?=@)")
"""User and password of an address."""
_SCHEME = re.compile(r"\b(Bearer|Basic|Token)(\s+|%20|\+)[^\s\"',;]+", re.IGNORECASE)
"""What an Authorization header holds."""
_NAME = re.compile(r"([\w\-.]+)[\"']?\s*[:=]\s*[\"']?")
_END = re.compile(r"[^\s\"',;&}\])]*")
"""A name and the end of its value inside a text: a query, a header, a mapping that cannot be read."""


def is_secret_name(name: str) -> bool:
    """Whether the value of an argument of this name is nobody's business.

    >>> [is_secret_name(name) for name in ("api_key", "HF_TOKEN", "clientSecret", "max_new_tokens", "pad_token")]
    [True, True, True, False, False]
    """
    words = [word.lower() for word in _WORD.findall(name)]
    for place, word in enumerate(words):
        if word == "token" and place and words[place - 1] in _SPECIAL_TOKENS:
            continue
        if word in _SECRET_WORDS or word.endswith(_SECRET_ENDS):
            return True
    return False


def _text(text: str) -> str:
    text = _USER.sub(HIDDEN, text)
    text = _SCHEME.sub(rf"\1\2{HIDDEN}", text)
    shown, place = "", 0
    for name in _NAME.finditer(text):
        if name.start() >= place and is_secret_name(name[1]):
            shown += text[place : name.end()] + HIDDEN
            end = _END.match(text, name.end())
            place = end.end() if end else name.end()
    return without_keys(shown + text[place:], HIDDEN)


def _parsed(text: str) -> Any:
    """A mapping or list that is written as text, in JSON or as Python prints it; None when it is neither."""
    if text.strip()[:1] not in ("{", "["):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        if isinstance(found, (dict, list)):
            return found
    return None


def _value(name: str, value: Any) -> Any:
    return HIDDEN if is_secret_name(name) and value not in (None, True, False, "") else shown_value(value)


def shown_value(value: Any) -> Any:
    """A value of JSON with the same shape, and without secrets at any depth."""
    if isinstance(value, Mapping):
        return {str(key): _value(str(key), item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown_value(item) for item in value]
    if not isinstance(value, str):
        return value
    inner = _parsed(value)
    return _text(value) if inner is None else json.dumps(shown_value(inner), ensure_ascii=False)


def _parts(text: str) -> list[str]:
    """`name=value` pairs with commas between; a comma in brackets or quotes belongs to its value."""
    parts, depth, quote, start = [], 0, "", 0
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and depth:
            quote = char
        elif char in "{[(":
            depth += 1
        elif char in "}])":
            depth = max(0, depth - 1)
        elif char == "," and not depth:
            parts.append(text[start:place])
            start = place + 1
    return [*parts, text[start:]]


def shown_arguments(arguments: Any) -> str:
    """Model arguments in one line.

    Args:
        arguments: What lmms-eval wrote: `name=value` with commas between, or a mapping.

    >>> shown_arguments("model_version=m,api_key=abc,base_url=http://me:pw@host/v1")
    'model_version=m,api_key=…,base_url=http://…@host/v1'
    """
    if isinstance(arguments, str):
        inner = _parsed(arguments)
        if inner is None:
            return _shown_pairs(arguments)
        arguments = inner
    if isinstance(arguments, Mapping):
        shown = {str(key): _value(str(key), item) for key, item in arguments.items()}
        return ",".join(f"{key}={item}" for key, item in shown.items())
    return str(shown_value(arguments))


def _shown_pairs(text: str) -> str:
    shown: list[str] = []
    hidden = False
    for part in _parts(text):
        name, equals, value = part.partition("=")
        if not equals:  # the rest of a value that has a comma
            shown.append(HIDDEN if hidden else str(shown_value(part)))
            continue
        hidden = is_secret_name(name)
        shown.append(f"{name}={HIDDEN if hidden else shown_value(value)}")
    return ",".join(shown)
