"""CritiqueCanvas through the real harness: scores that are recomputed, embeddings left out, domains."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_aes_tasks.cli.app import app
from lmms_aes_tasks.critiquecanvas.items import EMBEDDING_METRICS, METRICS
from tests.e2e.conftest import Launched
from tests.encoders import EncoderFolders

pytestmark = pytest.mark.harness

TASK = "critiquecanvas_demo"


def score_again(samples: Any, *arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(
        app, ["score", "critiquecanvas", str(samples), "--json", "--resamples", "100", *arguments]
    )
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def test_the_samples_are_enough_to_score_a_run_again(
    launched: Launched, encoder_folders: EncoderFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished = launched(1)
    metrics = finished.metrics(TASK)
    assert set(metrics) == {*METRICS, "failed_requests", "reasoning_rate"}
    assert 0 < metrics["rouge_l"] < 1
    content = score_again(finished.samples_file(TASK), "--metrics", "lexical,style")
    assert content["references_from"] == "the samples file"
    assert (
        (content["failed_requests"], content["reasoning_rate"])
        == (0, 0)
        == (
            metrics["failed_requests"],
            metrics["reasoning_rate"],
        )
    )
    for name, score in content["metrics"].items():
        assert score["value"] == pytest.approx(metrics[name], abs=1e-12), name
    for name, value in encoder_folders.environment.items():
        monkeypatch.setenv(name, value)
    whole = score_again(finished.samples_file(TASK), "--data", TASK)
    assert whole["references_from"] == "the data"
    for name in METRICS:
        assert whole["metrics"][name]["value"] == pytest.approx(metrics[name], abs=1e-6), name
    assert {domain: part["n"] for domain, part in whole["by_domain"].items()} == {
        "painting": 9,
        "photography": 9,
        "virtual": 9,
    }
    sample = finished.samples(TASK)[0]
    assert set(sample["record"]) >= {"id", "domain", "bleu", "rouge_l", "meteor", "mentions", "focus"}
    assert finished.results()["versions"][TASK] == "1-A"
    assert finished.results()["higher_is_better"][TASK]["avg_length"] is None


def test_embeddings_left_out_are_not_computed_and_not_0(launched: Launched) -> None:
    metrics = launched(1, 2).metrics(TASK)
    assert [metrics[name] for name in EMBEDDING_METRICS] == ["not computed"] * 3
    assert metrics["rouge_l"] >= 0
    assert "bert_f1 is not computed ($LMMS_AES_EMBEDDINGS=off)" in launched(1, 2).output
