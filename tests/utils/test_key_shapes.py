"""Keys by the shapes that the services document, made up here; and names that hold a piece of one."""

from __future__ import annotations

import random
import string

import pytest

from lmms_aes_tasks.board.text import looks_local
from lmms_aes_tasks.utils.key_shapes import without_keys

ALNUM = string.ascii_letters + string.digits


def drawn(length: int, alphabet: str = ALNUM, seed: int = 1) -> str:
    generator = random.Random(seed)
    return "".join(generator.choice(alphabet) for _ in range(length))


def keys(seed: int) -> dict[str, str]:
    url = f"{ALNUM}-_"
    return {
        "OpenAI, old": f"sk-{drawn(20, seed=seed)}T3BlbkFJ{drawn(20, seed=seed + 1)}",
        "OpenAI, project": f"sk-proj-{drawn(74, url, seed)}T3BlbkFJ{drawn(74, url, seed)}",
        "OpenAI, service": f"sk-svcacct-{drawn(74, url, seed)}T3BlbkFJ{drawn(58, url, seed)}",
        "Anthropic": f"sk-ant-api03-{drawn(93, url, seed)}AA",
        "OpenRouter": f"sk-or-v1-{drawn(64, '0123456789abcdef', seed)}",
        "DeepSeek": f"sk-{drawn(32, '0123456789abcdef', seed)}",
        "Hugging Face": f"hf_{drawn(34, string.ascii_letters, seed)}",
        "Hugging Face, organisation": f"api_org_{drawn(34, string.ascii_letters, seed)}",
        "GitHub": f"ghp_{drawn(36, seed=seed)}",
        "GitHub, app": f"ghs_{drawn(36, seed=seed)}",
        "GitHub, fine-grained": f"github_pat_{drawn(22, seed=seed)}_{drawn(59, seed=seed)}",
        "GitLab": f"glpat-{drawn(20, url, seed)}",
        "AWS": f"AKIA{drawn(16, string.ascii_uppercase + '234567', seed)}",
        "AWS, temporary": f"ASIA{drawn(16, string.ascii_uppercase + '234567', seed)}",
        "Google": f"AIza{drawn(35, url, seed)}",
        "Slack": f"xoxb-{drawn(12, string.digits, seed)}-{drawn(12, string.digits, seed)}-{drawn(24, seed=seed)}",
        "Slack, app": f"xapp-1-{drawn(11, seed=seed)}-{drawn(13, string.digits, seed)}-{drawn(64, seed=seed)}",
        "JWT": f"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{drawn(60, url, seed)}.{drawn(43, url, seed)}",
        "Groq": f"gsk_{drawn(52, seed=seed)}",
    }


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("around", ["{}", "key={}", "'{}'", "x {} y", "https://host/{}", "_{}", '"{}",'])
def test_keys_are_seen_wherever_they_stand(seed: int, around: str) -> None:
    for service, key in keys(seed).items():
        text = around.replace("{}", key)
        assert looks_local(text), (service, text)
        shown = without_keys(text)
        assert key[:12] not in shown, service
        assert key[-8:] not in shown, service


@pytest.mark.parametrize(
    "name",
    [
        "acme/multitask-instruct-7b",
        "mask-painting-portrait",
        "desk-lamp-0001",
        "risk-assessment",
        "task-0001-of-00010",
        "disk-image-2024-01-01",
        "flask-application-server-2",
        "sk-learn-baseline-v2",
        "org/sk-vision-large-model-7b",
        "kiosk-abcdefgh12345678",
        "half_precision_transformer",
        "shelf_abcdefgh12345678",
        "hf_transformers_baseline",
        "hf_internal_testing",
        "through_photographs",
        "laughs_abcdefghijklmnopqrst",
        "SLOVAKIAPHOTOGRAPHS2024",
        "MAKIAABCDEFGHIJKLMNOPQRS",
        "surveyJapaneseGardensInSpring",
        "moneyJournalIllustration",
        "boxoxb-figure",
        "forbearer of the flag",
    ],
)
def test_names_are_no_keys(name: str) -> None:
    assert not looks_local(name)
    assert without_keys(name) == name
