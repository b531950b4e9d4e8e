"""`score fineartbench`, `data check fineartbench`, `analyze subjectivity` and `analyze hallucination`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests import fineartbench_data
from tests.cli.conftest import call

ORACLE = json.loads((Path(__file__).parents[1] / "data/fineartbench.json").read_text("utf-8"))
WINNERS = {"L": "left", "R": "right", ".": ""}
FOUR = ("elo_rho", "elo_p", "bt_rho", "bt_p")


def files(case: dict[str, Any], folder: Path) -> tuple[Path, Path]:
    """The human file, and the predictions in the authors' format."""
    human = next(fineartbench_data.folder().rglob(case["human_annotation"]))
    pairs = fineartbench_data.read(f"2AFC_{case['mode']}_N_5000.json")
    rows = [own | {"winner": WINNERS[letter]} for own, letter in zip(pairs, case["predictions"], strict=True)]
    path = folder / "predictions.json"
    path.write_text(json.dumps(rows))
    return human, path


@pytest.mark.parametrize("case", ORACLE, ids=lambda case: f"{case['mode']}-{case['human_annotation']}-{case['before']}")
def test_the_authors_figures(case: dict[str, Any], tmp_path: Path) -> None:
    human, path = files(case, tmp_path)
    arguments = ("--mode", case["mode"], "--human", human, "--predictions", path, "--before", case["before"], "--json")
    result = call("score", "fineartbench", *arguments)
    assert result.exit_code == 0, result.output
    found, expected = json.loads(result.output), case["expected"]
    wanted = {"elo_rho": "elo_rho", "elo_p": "elo_p", "bt_rho": "bt_rho_exact_differences"}
    if case["mode"] == "global":
        wanted["bt_p"] = "bt_p"
    for name, theirs in wanted.items():
        assert found[name] == pytest.approx(expected[theirs], abs=1e-9)
    parts = "splits" if case["mode"] == "global" else "groups"
    assert len(found[parts]) == len(expected[parts])
    for ours, part in zip(found[parts], expected[parts], strict=True):
        for name, theirs in wanted.items():
            assert ours[name] == pytest.approx(part[theirs], abs=1e-9)
    assert found["bt_rho_noise"] is None
    assert found["protocol"] == "official"
    assert found["by_attribute"]
    assert set(found["rankings"]) == {"human_elo", "model_elo", "human_bt", "model_bt"}


def test_the_sound_protocol_and_the_plot(tmp_path: Path) -> None:
    human, path = files(ORACLE[0], tmp_path)
    arguments = ("--mode", "global", "--human", human, "--predictions", path, "--protocol", "aligned")
    plot = tmp_path / "ranks.png"
    shown = call("score", "fineartbench", *arguments, "--plot", plot)
    assert shown.exit_code == 0, shown.output
    for text in ("aligned protocol", "split 4", "DiffArtist", "By attribute", "69.09", "McFadden"):
        assert text in shown.output
    assert Image.open(plot).size[0] > 1000
    pearson = json.loads(call("score", "fineartbench", *arguments, "--combine", "pearson", "--json").output)
    fisher = json.loads(call("score", "fineartbench", *arguments, "--json").output)
    assert pearson["elo_rho"] == fisher["elo_rho"]
    assert pearson["elo_p"] != fisher["elo_p"]


def test_what_is_not_defined_is_null_with_its_reason(tmp_path: Path) -> None:
    human, path = files(ORACLE[3], tmp_path)
    arguments = ("--mode", "instance", "--human", human, "--predictions", path, "--protocol", "aligned")
    found = json.loads(call("score", "fineartbench", *arguments, "--json").output)
    assert found["without_value"] == {"elo": 0, "bt": 0, "bt_plain": len(found["groups"])}
    assert found["bt_rho"] is not None
    assert found["bt_plain_rho"] is None
    assert "separated" in found["groups"][0]["problems"]["bt_plain"]
    shown = call("score", "fineartbench", *arguments).output
    assert "without a prior" in shown


def test_how_far_rounding_moves_the_official_mean(tmp_path: Path, error_of: Callable[..., str]) -> None:
    human, path = files(ORACLE[4], tmp_path)
    arguments = ("--mode", "instance", "--human", human, "--predictions", path, "--noise")
    span = json.loads(call("score", "fineartbench", *arguments, "--json").output)["bt_rho_noise"]
    assert (span["fits"], span["seed"]) == (20, 0)
    assert span["low"] < span["high"] < span["low"] + 0.03
    # the authors' own machine is one such fit
    assert span["low"] <= ORACLE[4]["expected"]["bt_rho"] <= span["high"]
    shown = call("score", "fineartbench", *arguments).output
    assert f"{span['low']:.3f} to {span['high']:.3f}" in shown
    assert error_of("score", "fineartbench", *arguments, "--protocol", "aligned") == (
        "lmms-aes: --noise with --mode instance --protocol aligned: rounding moves the official ρ of tasks alone; give "
        "--mode instance --protocol official, or leave --noise out\n"
    )


def row(number: int, winner: Any, left: str = "x", right: str = "y") -> dict[str, Any]:
    names = {"content_index": 1, "style_index": 1, "method_left": left, "method_right": right}
    return {"id": number, "winner": winner, **names}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ([row(1, "left")], "1 pairs, and 2 are judged by the experts"),
        ([row(1, "left"), row(2, "left", "x", "z")], "pair 2 is x against z, there x against y"),
        ([row(1, "left"), row(2, "up")], "pair 2: winner is 'up'; use"),
        ([row(1, "left"), row(2, "left", "x", "x")], "pair 2: x is set against itself; give two methods"),
        ([row(1, "left"), row(2, None)], 'winner is null in 1 pair(s), first 2; use "" for none'),
        ({"a": 1}, "JSON of type dict. Give the list of pairs."),
    ],
)
def test_bad_predictions_are_named(model: Any, message: str, tmp_path: Path, error_of: Callable[..., str]) -> None:
    (tmp_path / "h.json").write_text(json.dumps([row(1, "left"), row(2, None)]))
    (tmp_path / "m.json").write_text(json.dumps(model))
    arguments = ("--mode", "global", "--human", tmp_path / "h.json", "--predictions", tmp_path / "m.json")
    assert message in error_of("score", "fineartbench", *arguments)


def test_bad_options_are_named(tmp_path: Path, error_of: Callable[..., str]) -> None:
    (tmp_path / "h.json").write_text(json.dumps([row(1, "left")]))
    both = ("--human", tmp_path / "h.json", "--predictions", tmp_path / "h.json")
    assert error_of("score", "fineartbench", "--mode", "artist", *both) == (
        "lmms-aes: mode is 'artist': use one of global, instance\n"
    )
    assert "protocol is 'exact': use one of official, aligned" in error_of(
        "score", "fineartbench", "--mode", "global", *both, "--protocol", "exact"
    )
    assert "combine is 'max': use one of fisher, pearson" in error_of(
        "score", "fineartbench", "--mode", "global", *both, "--combine", "max"
    )
    assert "ends in .png, .svg, .pdf" in error_of("score", "fineartbench", "--mode", "global", *both, "--plot", "x.txt")
    missing = tmp_path / "no.json"
    assert error_of("score", "fineartbench", "--mode", "global", "--human", missing, "--predictions", missing) == (
        f"lmms-aes: {missing} is not a file. Name a JSON file.\n"
    )


def test_one_pair_of_methods_and_only_skipped_rows_give_null(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text(json.dumps([row(i, None) for i in range(1, 11)]))
    (tmp_path / "m.json").write_text(json.dumps([row(i, "left") for i in range(1, 11)]))
    arguments = ("--mode", "global", "--human", tmp_path / "h.json", "--predictions", tmp_path / "m.json", "--json")
    for protocol in ("official", "aligned"):
        result = call("score", "fineartbench", *arguments, "--protocol", protocol)
        assert result.exit_code == 0, result.output
        found = json.loads(result.output)
        assert [found[name] for name in FOUR] == [None] * 4
        assert all(part["problems"]["elo"] for part in found["splits"])
        assert found["pair_agreement"]["value"] is None


@pytest.mark.parametrize("mode", ["global", "instance"])
def test_a_mode_without_any_task_says_why(mode: str, tmp_path: Path) -> None:
    rows = [row(i, "left" if i < 4 else None) for i in range(1, 11)]
    (tmp_path / "h.json").write_text(json.dumps(rows))
    (tmp_path / "m.json").write_text(json.dumps([row(i, "left") for i in range(1, 11)]))
    arguments = ("--mode", mode, "--human", tmp_path / "h.json", "--predictions", tmp_path / "m.json")
    found = json.loads(call("score", "fineartbench", *arguments, "--json").output)
    assert [found[name] for name in FOUR] == [None] * 4
    reason = {"global": "only 2 methods in common", "instance": "1 have fewer than 15 decided judgements"}[mode]
    assert reason in found["problems"]["elo"]
    assert found["r2"] == {"raw": None, "without_uncertain": None, "problem": "separated"}
    shown = call("score", "fineartbench", *arguments).output.replace("\n", " ")
    assert "Elo has no value: " in shown
    assert "R² is not defined: separated" in shown


def samples(numbers: list[Any], mode: str = "global") -> str:
    records = [
        {"id": f"{mode}-{i}", "number": number, "human": "left"} | {k: v for k, v in row(1, "").items() if k != "id"}
        for i, number in enumerate(numbers, 1)
    ]
    lines = [{"record": own, "filtered_resps": "{'winner': 0}", "input": "?"} for own in records]
    return "\n".join(map(json.dumps, lines))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([1, 1], "sample 'global-2' has the number 1: with --mode global ids are global-1"),
        ([1, 1.5], "sample 'global-2' has the number 1.5"),
        ([1, float("inf")], "global-2 is no sample of a fineartbench task"),
        ([1], "1 pairs, and 2 are judged by the experts"),
    ],
)
def test_unsound_samples_are_named(
    numbers: list[Any], message: str, tmp_path: Path, error_of: Callable[..., str]
) -> None:
    (tmp_path / "h.json").write_text(json.dumps([row(1, "left"), row(2, None)]))
    path = tmp_path / "s.jsonl"
    path.write_text(samples(numbers))
    arguments = ("--mode", "global", "--human", tmp_path / "h.json", "--predictions", path)
    assert message in error_of("score", "fineartbench", *arguments)


def test_an_incomplete_run_is_scored_when_allowed(tmp_path: Path, error_of: Callable[..., str]) -> None:
    (tmp_path / "h.json").write_text(json.dumps([row(1, "left"), row(2, None)]))
    path = tmp_path / "s.jsonl"
    path.write_text(samples([1]))
    arguments = ("--human", tmp_path / "h.json", "--predictions", path)
    found = json.loads(
        call("score", "fineartbench", "--mode", "global", *arguments, "--allow-incomplete", "--json").stdout
    )
    assert found["missing_pairs"] == 1
    assert found["pair_agreement"]["value"] == 1.0
    assert found["rules"] == {"object": 1}
    assert found["prompts"] == {"other": 1}
    assert "with --mode instance ids are instance-1" in error_of(
        "score", "fineartbench", "--mode", "instance", *arguments
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [("style_1k.json", []), ("style_1k.json", {"1": {"style": None}}), ("content_1k.json", [None])],
)
def test_unsound_attributes_are_named(name: str, content: Any, tmp_path: Path, error_of: Callable[..., str]) -> None:
    (tmp_path / "h.json").write_text(json.dumps([row(1, "left")]))
    (tmp_path / name).write_text(json.dumps(content))
    both = ("--human", tmp_path / "h.json", "--predictions", tmp_path / "h.json")
    message = error_of("score", "fineartbench", "--mode", "global", *both)
    assert f"{tmp_path / name}: not the authors' attributes" in message


def test_nothing_to_draw_is_said(tmp_path: Path, error_of: Callable[..., str]) -> None:
    (tmp_path / "h.json").write_text(json.dumps([row(1, "left")]))
    (tmp_path / "m.json").write_text(json.dumps([row(1, "")]))
    arguments = ("--human", tmp_path / "h.json", "--predictions", tmp_path / "m.json", "--plot", tmp_path / "x.png")
    assert "nothing to draw" in error_of("score", "fineartbench", "--mode", "instance", *arguments)
    assert not (tmp_path / "x.png").exists()


# -- data -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def download(tmp_path: Path) -> Path:
    rows = [
        row(1, "") | {"content_index": 1, "style_index": 5},
        row(2, "") | {"content_index": 1, "style_index": 6},
    ]
    for mode in ("global", "instance"):
        (tmp_path / f"2AFC_{mode}_N_5000.json").write_text(json.dumps(rows))
        (tmp_path / f"{mode}_annotation.json").write_text(json.dumps(rows))
    (tmp_path / "content_style_combination.json").write_text(json.dumps({"1": [5, 6]}))
    (tmp_path / "base/images").mkdir(parents=True)
    Image.new("RGB", (4, 4)).save(tmp_path / "base/images/1.png")
    for method in "xy":
        (tmp_path / "painting" / method).mkdir(parents=True)
        Image.new("RGB", (4, 4)).save(tmp_path / f"painting/{method}/content_1_style_1.jpg")
    return tmp_path


def test_check_lists_what_is_missing_by_method(download: Path, error_of: Callable[..., str]) -> None:
    found = json.loads(call("data", "check", "fineartbench", "--data", download, "--json").output)
    assert found["counts"]["pairs_global"] == 2
    assert found["counts"]["pairs_global_with_images"] == 1
    assert found["missing"] == {"global": {"x": 1, "y": 1}, "instance": {"x": 1, "y": 1}}
    assert found["expected"]["pairs_global"] == 5000
    shown = call("data", "check", "fineartbench", "--data", download).output
    assert "Missing files" in shown
    assert "2 of 4 pairs lack images" in error_of("data", "check", "fineartbench", "--data", download)
    (download / "painting/x/content_1_style_1.jpg").write_bytes(b"no image")
    assert "1 image(s) do not decode" in error_of("data", "check", "fineartbench", "--data", download)
    (download / "global_annotation.json").unlink()
    assert "no global_annotation.json in" in error_of("data", "check", "fineartbench", "--data", download)
    assert "is used as it was downloaded" in error_of("data", "import", "fineartbench", download)


# -- analyze ----------------------------------------------------------------------------------------------------------


def test_subjectivity_by_hand(tmp_path: Path) -> None:
    from textblob import TextBlob

    rounds = json.dumps(
        {
            "rounds": [
                {"step": "a", "reply": "<think>Lovely, gorgeous.</think>It feels beautiful.<|im_end|>"},
                {"step": "b", "reply": "[THINK]Lovely[/THINK]Blue sky"},
            ]
        }
    )
    texts = ["The line is straight.", rounds, ""]
    path = tmp_path / "s.jsonl"
    path.write_text("\n".join(json.dumps({"id": str(i), "response": text}) for i, text in enumerate(texts)))
    result = json.loads(call("analyze", "subjectivity", path, "--json").output)
    (found,) = result["files"].values()
    assert result["word_list"] == "1"
    assert (found["texts"], found["empty"]) == (2, 1)
    assert found["words"] == (4 + 5) / 2
    assert found["subjective"] == pytest.approx((0 + 2 / 5) / 2)  # feels, beautiful
    scores = [
        TextBlob(text).sentiment.subjectivity for text in ("The line is straight.", "It feels beautiful.\nBlue sky")
    ]
    assert found["textblob"] == pytest.approx(sum(scores) / 2)
    assert "22" not in call("analyze", "subjectivity", path).output.splitlines()[0]


def test_hallucination_by_hand(tmp_path: Path, error_of: Callable[..., str]) -> None:
    rows = [
        {"method": "cot", "visual": 2, "textual": 0, "opinionated": 1, "interpretation": 1},
        {"method": "cot", "visual": 1, "textual": 0, "opinionated": 2, "interpretation": 0},
        {"method": "artcot", "visual": 0, "textual": 0, "opinionated": 0, "interpretation": 1},
    ]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    found = json.loads(call("analyze", "hallucination", path, "--json").output)
    assert found["cot"] == {"visual": 0.75, "textual": 0.0, "opinionated": 0.75, "interpretation": 0.25, "n": 2}
    assert found["artcot"]["interpretation"] == 0.5
    assert "artcot" in call("analyze", "hallucination", path).output
    path.write_text(json.dumps(rows[0] | {"visual": 3, "method": None}))
    assert error_of("analyze", "hallucination", path) == (
        f"lmms-aes: {path}: 2 problem(s).\n"
        "  - rating 1: visual is 3; use 0, 1 or 2\n"
        "  - rating 1: method is None; give a text\n"
    )
