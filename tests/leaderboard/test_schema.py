"""The forms: a round trip keeps every value; NaN, texts in place of numbers and unknown fields are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from lmms_aes_tasks.board.digests import canonical_json, ids_sha256, per_item_sha256
from lmms_aes_tasks.board.schema import Entry, Metric, json_schema
from lmms_aes_tasks.leaderboard.safe_reading import strict_json
from tests.leaderboard.conftest import read_entry

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=64).filter(lambda number: len(repr(number)) <= 30)
METRICS = st.builds(
    Metric,
    value=st.none() | NUMBERS,
    n=st.integers(0, 10**6),
    numerator=st.none() | NUMBERS,
    denominator=st.none() | NUMBERS,
    low=st.none() | NUMBERS,
    high=st.none() | NUMBERS,
    higher_is_better=st.none() | st.booleans(),
    reason=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
)
SETTINGS = st.dictionaries(
    st.sampled_from(["temperature", "until", "do_sample", "top_k", "seed"]),
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NUMBERS | st.lists(st.text("ab<|\n", max_size=5)),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(metrics=st.dictionaries(st.text("abc@^_3", min_size=1, max_size=9), METRICS), decoding=SETTINGS)
def test_a_round_trip_keeps_every_value(built: Path, metrics: dict[str, Metric], decoding: dict[str, Any]) -> None:
    content = read_entry(built)
    task = content["tasks"]["contextcanvas_demo"]
    task["metrics"] = {name: metric.model_dump(mode="json") for name, metric in metrics.items()}
    task["decoding"] = decoding
    first = Entry.model_validate(content)
    text = canonical_json(first.model_dump(mode="json"))
    again = Entry.model_validate(strict_json(text.encode(), "entry.json"))
    assert again == first
    assert again.tasks["contextcanvas_demo"].metrics == metrics
    given_back = again.tasks["contextcanvas_demo"].decoding
    assert given_back == decoding
    assert {key: type(value) for key, value in given_back.items()} == {k: type(v) for k, v in decoding.items()}
    assert canonical_json(again.model_dump(mode="json")) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), "0.5", True])
def test_a_value_is_a_finite_number(value: Any) -> None:
    with pytest.raises(ValidationError):
        Metric(value=value, n=1)


def test_an_entry_has_no_unknown_field_and_no_status_but_self_reported(built: Path) -> None:
    content = read_entry(built)
    assert content["status"] == "self-reported"
    for change in ({"status": "recomputed"}, {"more": 1}, {"date": "yesterday"}, {"tasks": {}}):
        with pytest.raises(ValidationError):
            Entry.model_validate(content | change)


def test_no_number_of_an_entry_is_a_text(built: Path) -> None:
    def numbers(value: Any) -> None:
        if isinstance(value, dict):
            for key, own in value.items():
                if key in {"value", "n", "numerator", "denominator", "low", "high", "rows", "bytes"}:
                    assert own is None or (isinstance(own, (int, float)) and not isinstance(own, bool))
                if isinstance(own, str) and key not in {"schema_version", "parser"}:
                    assert not re.fullmatch(r"[+-]?[\d.]+(e[+-]?\d+)?", own)
                numbers(own)
        elif isinstance(value, list):
            for own in value:
                numbers(own)

    content = read_entry(built)
    del content["versions"]
    numbers(content)


def test_the_schema_is_exported() -> None:
    exported = json.loads(json.dumps(json_schema(Entry)))
    assert exported["properties"]["schema_version"] == {
        "const": "1",
        "default": "1",
        "title": "Schema Version",
        "type": "string",
    }
    assert exported["additionalProperties"] is False


def test_digests_do_not_depend_on_order() -> None:
    assert ids_sha256(["b", "a"]) == ids_sha256(["a", "b"]) != ids_sha256(["a", "c"])
    assert per_item_sha256([("b", 1), ("a", [2, None])]) == per_item_sha256([("a", [2, None]), ("b", 1)])
    # printf '"a"\\n' | sha256sum
    assert ids_sha256(["a"]) == "ee195db0cd14979ece92e4ac42d91fef87d1ee254f8df170907cd674dab12d44"
