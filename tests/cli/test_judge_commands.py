"""`lmms-aes judge critiques` against a server on loopback, and `lmms-aes analyze ratings` on what it wrote."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_aes_tasks.critiquecanvas import judge as critique_judge
from tests.cli.conftest import call
from tests.critiques import REFERENCE, by_digit, candidates_of, make_data, verdict, write_lines, write_responses
from tests.loopback import Reply, Server, running_server

KEY = "sk-loopback-secret"
# the last digit is what the judge gives
MODELS = {
    "blue": ["b 5", "b 4", "b 5", "b 3"],
    "green": ["g 1", "g 2", "g 1", "g 2"],
    "red": ["<think>r 5</think> r 3", "", "r 4", "r 4"],
}
EXPECTED = {"blue": 17 / 4, "green": 6 / 4, "red": 12 / 4}


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        running.reply = by_digit
        yield running


@pytest.fixture
def command(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(critique_judge.run, "BACKOFF_SECONDS", 0.0)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return [
        *("judge", "critiques", *write_responses(tmp_path, MODELS), "--data", make_data(tmp_path, 4)),
        *("--judge", "some-judge", "--base-url", server.address, "--out", tmp_path / "out.jsonl"),
        *("--resamples", 100, "--json"),
    ]


def judged(command: list[Any], *more: Any, code: int = 0) -> dict[str, Any]:
    result = call(*command, *more)
    assert result.exit_code == code, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_scores_are_the_means_of_what_the_judge_gave(command: list[Any], server: Server, tmp_path: Path) -> None:
    content = judged(command)
    assert {model: own["score"] for model, own in content["models"].items()} == pytest.approx(EXPECTED)
    assert all(own["n"] == 4 for own in content["models"].values())
    assert content["models"]["blue"]["criteria"]["visual_grounding"] == pytest.approx(EXPECTED["blue"])
    assert content["cases"] == {"asked_for": 4, "judged": 4, "verdict_not_read": 0, "no_response": 0, "not_asked": 0}
    assert content["calls"] == len(server.requests) == 4
    written = lines_of(tmp_path / "out.jsonl")
    assert sorted(line["id"] for line in written) == ["c0", "c1", "c2", "c3"]
    for line in written:
        number = int(line["id"][1])
        given = {"blue": MODELS["blue"][number][-1], "green": MODELS["green"][number][-1]}
        given["red"] = MODELS["red"][number][-1:] or "1"
        assert {model: str(own["overall_quality"]) for model, own in line["verdict"].items()} == given
        assert (line["problem"], line["attempts"], line["seed"], line["judge"]) == (None, 1, 0, "some-judge")
        # the order of the file is the order that the judge saw
        (body,) = [own for own in server.requests if f"Instruction {number}:" in json.dumps(own)]
        digits = {alias: text[-1] for alias, text in candidates_of(body).items() if text != "(empty)"}
        assert digits.items() <= {alias: given[model] for alias, model in line["order"].items()}.items()
    assert len({tuple(line["order"].values()) for line in written}) > 1
    # by hand from the file: mean by alias
    for alias, own in content["positions"].items():
        values = [line["verdict"][line["order"][alias]]["overall_quality"] for line in written]
        assert own == {"mean": pytest.approx(sum(values) / 4), "n": 4}
    assert all(headers["authorization"] == f"Bearer {KEY}" for headers in server.headers)
    sent, kept = json.dumps(server.requests), (tmp_path / "out.jsonl").read_text()
    assert REFERENCE not in sent
    for secret in (KEY, str(tmp_path), server.address, "responses-0"):
        assert secret not in kept


def test_tables_name_every_denominator(command: list[Any], server: Server) -> None:
    server.reply = lambda body: "no" if "Instruction 2:" in json.dumps(body) else by_digit(body)
    shown = call(*command[:-1])
    assert shown.exit_code == 0
    for text in ("MLLMScore", "visual grounding", "Overall quality by position", "green", "critique-judge-1"):
        assert text in shown.output
    assert "4 cases asked for: 3 judged, 1 verdict not read, 0 no response, 0 not asked; 4 calls" in shown.output
    assert "verdict not read: c2: not JSON" in shown.output


def test_a_second_run_asks_nothing(command: list[Any], server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply = lambda body: "never" if "Instruction 1:" in json.dumps(body) else by_digit(body)
    first = judged(command)
    monkeypatch.delenv("OPENAI_API_KEY")  # nor does it need a key
    second = judged(command)
    assert len(server.requests) == 4  # not even for the verdict that was not read
    assert second["models"] == first["models"]
    assert second["models"]["blue"]["n"] == 3
    assert second["verdict_not_read"] == first["verdict_not_read"] == {"c1": "not JSON"}
    assert (second["calls"], second["judged_before"]) == (0, 4)


def test_a_changed_candidate_is_refused(
    command: list[Any], server: Server, error_of: Callable[..., str], tmp_path: Path
) -> None:
    judged(command)
    before = (tmp_path / "out.jsonl").read_bytes()
    write_responses(tmp_path, MODELS | {"blue": ["b 5", "b 4", "b 2", "b 3"]})
    message = error_of(*command)
    assert "out.jsonl belongs to another run: 1 line(s) differ. Name another --out" in message
    assert "'c2': candidates differ" in message
    write_responses(tmp_path, MODELS)
    for change in (("--seed", 1), ("--image-fit", "stretch"), ("--judge", "other")):
        assert "belongs to another run: 4 line(s) differ" in error_of(*command, *change)
    place = command.index(next(part for part in command if str(part).startswith("green=")))
    two = command[: place - 1] + command[place + 1 :]
    assert "order, candidates differ" in error_of(*two)
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert len(server.requests) == 4


def test_a_run_goes_on_after_the_budget(command: list[Any], server: Server) -> None:
    failing = Reply(b"{}", 503)
    server.reply = lambda body: failing if len(server.requests) == 1 else by_digit(body)
    result = call(*command, "--max-calls", 3, "--concurrency", 1)
    assert result.exit_code == 1
    first = json.loads(result.stdout)
    assert first["cases"] == {"asked_for": 4, "judged": 2, "verdict_not_read": 0, "no_response": 0, "not_asked": 2}
    assert "The budget of 3 calls is used up: 2 of 4 cases remain. Run the same command again" in result.stderr
    second = judged(command)
    assert len(server.requests) == 5
    assert second["cases"]["judged"] == 4
    assert {model: own["score"] for model, own in second["models"].items()} == pytest.approx(EXPECTED)


def test_a_case_without_a_response_is_asked_again_next_time(command: list[Any], server: Server, tmp_path: Path) -> None:
    server.reply = lambda body: Reply(b"{}", 500) if "Instruction 3:" in json.dumps(body) else by_digit(body)
    first = judged(command, code=1)
    assert first["no_response"] == {"c3": "HTTP status 500"}
    assert first["calls"] == 3 + 4
    assert len(lines_of(tmp_path / "out.jsonl")) == 3
    server.reply = by_digit
    assert judged(command)["cases"]["judged"] == 4


def test_a_cut_last_line_is_asked_again(
    command: list[Any], server: Server, error_of: Callable[..., str], tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    judged(command, "--concurrency", 1)
    whole = out.read_bytes()
    out.write_bytes(whole[:-40])
    assert judged(command)["cases"]["judged"] == 4
    assert len(server.requests) == 5
    assert lines_of(out) == [json.loads(line) for line in whole.splitlines()]
    out.write_bytes(whole + whole.splitlines()[0] + b"\n")
    assert "id 'c0' stands in line 1 already" in error_of(*command)


def test_the_sample_is_seeded_and_can_grow(command: list[Any], server: Server, tmp_path: Path) -> None:
    first = judged(command, "--cases", 2)
    ids = {line["id"] for line in lines_of(tmp_path / "out.jsonl")}
    assert first["cases"]["asked_for"] == len(ids) == 2
    assert judged(command, "--cases", 3)["calls"] == 1
    again = judged(command, "--cases", 2)
    assert again["models"] == first["models"]
    assert (again["calls"], again["judged_before_not_asked_for"]) == (0, 1)


def test_only_what_all_models_answered(command: list[Any], error_of: Callable[..., str], tmp_path: Path) -> None:
    write_lines(tmp_path / "responses-1.jsonl", [{"id": f"c{i}", "response": "g 2"} for i in (1, 3)])
    content = judged(command)
    assert (content["cases"]["asked_for"], content["not_common"]) == (2, 2)
    assert "3 cases are asked for, 2 are there" in error_of(*command, "--cases", 3)


def test_a_key_that_is_refused(
    command: list[Any], server: Server, error_of: Callable[..., str], tmp_path: Path
) -> None:
    said = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}).encode()
    server.reply = lambda body: by_digit(body) if len(server.requests) < 2 else Reply(said, 401)
    message = error_of(*command, "--concurrency", 1)
    assert "the endpoint refuses the request" in message
    assert "Check OPENAI_API_KEY" in message
    assert "out.jsonl keeps 1 case(s); run again to go on" in message
    assert KEY not in message
    server.reply = by_digit
    assert judged(command)["calls"] == 3


def test_a_judge_that_repeats_the_key(command: list[Any], server: Server, tmp_path: Path) -> None:
    server.reply = lambda body: f"Your key is {KEY}"
    assert judged(command)["cases"]["verdict_not_read"] == 4
    assert KEY not in (tmp_path / "out.jsonl").read_text()
    assert lines_of(tmp_path / "out.jsonl")[0]["raw"] == "Your key is [API key]"


def test_bad_input_ends_in_a_message(
    command: list[Any], server: Server, error_of: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = command[8:]
    assert rest[0] == "--data"
    files = list(command[3:8:2])
    start = ["judge", "critiques"]
    assert "1 model(s): give --model NAME=FILE 2 to 5 times" in error_of(*start, "--model", files[0], *rest)
    six = [part for i in range(6) for part in ("--model", f"m{i}={tmp_path / 'responses-0.jsonl'}")]
    assert "6 model(s)" in error_of(*start, *six, *rest)
    assert "names 'blue' twice" in error_of(*command, "--model", files[0])
    assert "use NAME=FILE" in error_of(*command, "--model", "responses.jsonl")
    assert "is not a file" in error_of(*command, "--model", f"m={tmp_path / 'none'}")
    assert "--judge is empty" in error_of(*command, "--judge", " ")
    assert error_of(*command, "--base-url", "localhost").endswith("one such as https://api.openai.com/v1\n")
    assert "use critiquecanvas or critiquecanvas_demo" in error_of(*command, "--benchmark", "vab")
    assert "is a folder: name a file" in error_of(*command, "--out", tmp_path)
    assert "lacks {instruction}, {critiques}" in error_of(
        *command, "--prompt-file", write_lines(tmp_path / "p", [{"instruction": 1}])
    )
    strange = write_lines(tmp_path / "strange.jsonl", [{"id": "c9", "response": "x"}, {"id": "c9", "response": "x"}])
    message = error_of(*command, "--model", f"m={strange}")
    assert "1 repeated: c9" in message
    assert "1 not in the data: c9" in message
    diary = tmp_path / "diary.txt"
    diary.write_text("Dear diary")
    assert "line 1: not JSON" in error_of(*command, "--out", diary)
    assert diary.read_text() == "Dear diary"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "$OPENAI_API_KEY is not set" in error_of(*command)
    assert server.requests == []
    assert not (tmp_path / "out.jsonl").exists()
    assert not list(tmp_path.glob(".*.lock"))


# -- Ratings ----------------------------------------------------------------------------------------------------------


def rating(case_id: str, model: str, evaluator: str, h: int) -> dict[str, Any]:
    names = ("visual_grounding", "aesthetic_specificity", "criterion_appropriateness", "analytical_usefulness")
    met = {name: int(place < h - 1) for place, name in enumerate(names)}
    return {"id": case_id, "model": model, "evaluator": evaluator} | met


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Two evaluators of four cases; the second likes everything one less where there is one."""
    rows = []
    for model, texts in MODELS.items():
        for number, text in enumerate(texts):
            h = int(text[-1:] or "1")
            rows += [rating(f"c{number}", model, "e1", h), rating(f"c{number}", model, "e2", max(1, h - 1))]
    random.Random(0).shuffle(rows)
    return write_lines(tmp_path / "people.jsonl", rows)


def test_ratings_and_the_judge(command: list[Any], people: Path, tmp_path: Path) -> None:
    from sklearn.metrics import cohen_kappa_score

    judged(command)
    result = call("analyze", "ratings", people, "--judge", tmp_path / "out.jsonl", "--resamples", 100, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    h = {model: [int(text[-1:] or "1") for text in texts] for model, texts in MODELS.items()}
    both = {model: [*own, *(max(1, value - 1) for value in own)] for model, own in h.items()}
    for model, own in content["models"].items():
        assert own["score"] == pytest.approx(sum(both[model]) / 8)
        assert own["interval"]["low"] <= own["score"] <= own["interval"]["high"]
    first = [value for own in h.values() for value in own]
    second = [max(1, value - 1) for value in first]
    expected = cohen_kappa_score(first, second, labels=[1, 2, 3, 4, 5], weights="quadratic")
    (pair,) = content["evaluators"]
    assert pair["quadratic_kappa"]["value"] == pytest.approx(expected)
    judge = content["judge"]
    # e1 is the judge itself, e2 the one below
    assert judge["quadratic_kappa"]["e1"]["value"] == pytest.approx(1.0)
    assert judge["quadratic_kappa"]["e2"]["value"] == pytest.approx(expected)
    assert judge["mean_quadratic_kappa"]["value"] == pytest.approx((1 + expected) / 2)
    assert judge["spearman"] == {"value": pytest.approx(1.0), "n": 3, "reason": None}
    assert (judge["n"], judge["only_human"], judge["only_judge"], judge["cases_not_read"]) == (12, 0, 0, 0)


def test_ratings_as_tables_and_figure(command: list[Any], server: Server, people: Path, tmp_path: Path) -> None:
    server.reply = lambda body: (
        "no" if "Instruction 2:" in json.dumps(body) else json.dumps(verdict(dict.fromkeys("ABC", 3)))
    )
    judged(command)
    shown = call(
        *("analyze", "ratings", people, "--judge", tmp_path / "out.jsonl", "--resamples", 100),
        *("--plot", tmp_path / "x.png"),
    )
    assert shown.exit_code == 0, shown.output
    for text in ("HumanScore", "e1 / e2", "rank by judge", "quadratic kappa with e2"):
        assert text in shown.output
    assert "Spearman's rho over critiques is not defined: one side gives the same value to every item" in shown.output
    assert "9 critiques rated by both; 3 by people alone, 0 by the judge alone; 1 cases with" in shown.output
    assert Image.open(tmp_path / "x.png").size[1] == 780


def test_one_evaluator_and_uneven_ones(people: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in people.read_text().splitlines()]
    one = write_lines(tmp_path / "one.jsonl", [row for row in rows if row["evaluator"] == "e1"])
    assert "one evaluator: no agreement to measure" in call("analyze", "ratings", one, "--resamples", 100).output
    uneven = write_lines(
        tmp_path / "uneven.jsonl", [row for row in rows if (row["id"], row["evaluator"]) != ("c0", "e2")]
    )
    shown = call("analyze", "ratings", uneven, "--resamples", 100).output
    assert "blue: 1 to 2 evaluators a critique; the score is the mean of all ratings" in shown


def test_ratings_that_cannot_be_used(people: Path, error_of: Callable[..., str], tmp_path: Path) -> None:
    assert "give --judge, too" in error_of("analyze", "ratings", people, "--plot", tmp_path / "x.png")
    assert "use a name that ends in" in error_of("analyze", "ratings", people, "--plot", tmp_path / "x.txt")
    assert "is not a file" in error_of("analyze", "ratings", people, "--judge", tmp_path / "none.jsonl")
    line = {"id": "z", "order": {"A": "blue"}, "verdict": verdict({"blue": 3}), "problem": None}
    other = write_lines(tmp_path / "other.jsonl", [line])
    assert "rate no critique in common" in error_of("analyze", "ratings", people, "--judge", other)
    again = write_lines(tmp_path / "again.jsonl", [rating("a", "m", "e", 3)] * 2)
    assert "rating 2: 'e' has rated 'm' on 'a' already in rating 1" in error_of("analyze", "ratings", again)
