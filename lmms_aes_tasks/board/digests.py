"""Digests of an entry: one canonical form of JSON, hashed, so that two machines agree on what is the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

ID_DIGITS = 16
"""Hexadecimal digits of a response's own digest: enough to name the one that was changed; the file's is whole."""


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, without spaces, NaN and infinities.

    Raises:
        ValueError: A number is not finite.

    >>> canonical_json({"b": 1.5, "a": ["é", None]})
    '{"a":["é",null],"b":1.5}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def lines_sha256(values: Iterable[Any]) -> str:
    """SHA-256 over one canonical JSON line a value, in the order given."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(canonical_json(value).encode("utf-8") + b"\n")
    return digest.hexdigest()


def ids_sha256(ids: Iterable[str]) -> str:
    """Digest over ids, whatever order they come in."""
    return lines_sha256(sorted(ids))


_DIGITS = 9
"""Of a number in a digest: a power in METEOR may differ in the last place between two processors or C libraries."""


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0  # no -0.0
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def per_item_sha256(values: Iterable[tuple[str, Any]]) -> str:
    """Digest over (id, value) pairs, whatever order they come in; numbers to nine digits."""
    return lines_sha256([item_id, _rounded(value)] for item_id, value in sorted(values, key=lambda pair: pair[0]))


def text_sha256(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def response_digest(response: str) -> str:
    """The first `ID_DIGITS` digits of a response's SHA-256: a record's `response_digest`."""
    return text_sha256(response)[:ID_DIGITS]
