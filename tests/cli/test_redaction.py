"""Arguments as `lmms-aes runs` prints them: nothing that opens a door."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lmms_aes_tasks.cli.redaction import is_secret_name, shown_arguments

SECRET = "hunter2-verysecret"


@pytest.mark.parametrize(
    "name",
    ["api_key", "apikey", "APIKEY", "apiKey", "OPENAI_API_KEY", "azure-api-key", "key", "access_key_id", "hf_token",
     "HFTOKEN", "token", "auth_token", "use_auth_token", "secret", "client_secret", "clientSecret", "password",
     "db_password", "passwd", "pwd", "Authorization", "bearer", "credentials", "private_key", "x-api-key", "auth"],
)  # fmt: skip
def test_values_of_such_names_are_hidden(name: str) -> None:
    nested: list[Any] = [
        f"model=m,{name}={SECRET},batch=2",
        f"{name}={SECRET}",
        {"model": "m", name: SECRET},
        {"model": "m", "extra": {"deep": [{name: SECRET}]}},
        json.dumps({name: SECRET}),
        str({"model": "m", "headers": {name: SECRET}}),
        f'model=m,headers={{"{name}": "{SECRET}", "x": 1}}',
        f"model=m,headers={{'{name}': '{SECRET}'}}",
        f"base_url=https://host/v1?{name}={SECRET}&x=1",
        {"extra": json.dumps({"headers": {name: SECRET}})},
        f"{name}={SECRET},{SECRET}",
    ]
    for arguments in nested:
        assert "hunter2" not in shown_arguments(arguments), arguments
        assert "verysecret" not in shown_arguments(arguments), arguments


@pytest.mark.parametrize(
    "arguments",
    [
        f"base_url=https://user:{SECRET}@host/v1",
        f"base_url=https://{SECRET}@host/v1",
        f"base_url=https://user:p@{SECRET}@host/v1",
        {"url": f"postgres://user:{SECRET}@host/db"},
        f"header=Authorization: Bearer {SECRET}",
        f"x=bearer {SECRET}",
        {"headers": {"X": f"Bearer {SECRET}"}},
        {"headers": [f"Basic {SECRET}"]},
        "x=sk-notarealkeynotarealkeynotarealkey-hunter2",
    ],
)
def test_values_that_are_secrets_by_their_form_are_hidden(arguments: Any) -> None:
    shown = shown_arguments(arguments)
    assert "hunter2" not in shown
    assert "notareal" not in shown


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("pretrained=./m", "pretrained=./m"),
        ("model_version=m,base_url=http://127.0.0.1:8811/v1", "model_version=m,base_url=http://127.0.0.1:8811/v1"),
        ("pretrained=org/multitask-7b,max_new_tokens=16,pad_token=<pad>,eos_token_id=2",
         "pretrained=org/multitask-7b,max_new_tokens=16,pad_token=<pad>,eos_token_id=2"),
        ({"pretrained": "m", "device_map": None, "limits": [1, 2]}, "pretrained=m,device_map=None,limits=[1, 2]"),
        ("strategy=oracle,accuracy=0.8,seed=1", "strategy=oracle,accuracy=0.8,seed=1"),
    ],
)  # fmt: skip
def test_the_rest_stays_readable(arguments: Any, shown: str) -> None:
    assert shown_arguments(arguments) == shown


def test_settings_about_tokens_of_text_are_no_secrets() -> None:
    for name in (
        "max_new_tokens",
        "max_tokens",
        "pad_token",
        "image_token_id",
        "num_tokens",
        "min_pixels",
        "stop_token",
    ):
        assert not is_secret_name(name)
