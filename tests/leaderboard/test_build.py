"""Building entries: layouts, figures, coverage, what may be published, and what stays when something fails."""

from __future__ import annotations

import getpass
import hashlib
import json
import re
import shutil
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from lmms_aes_tasks.board.errors import BuildError
from lmms_aes_tasks.board.schema import Entry
from lmms_aes_tasks.leaderboard.build import EntryRequest, build
from lmms_aes_tasks.predictions import PredictionError
from lmms_aes_tasks.records import SourceError
from tests import fineartbench_data
from tests.leaderboard import runs
from tests.leaderboard.conftest import TASKS, read_entry, read_lines

WANTED = EntryRequest("Org/Model")
ONE = "contextcanvas_demo"


def everything(folder: Path) -> str:
    """All text of an entry, responses decompressed."""
    texts = [(folder / "entry.json").read_text("utf-8")]
    for path in sorted((folder / "responses").iterdir()):
        texts.append(zstandard.ZstdDecompressor().decompress(path.read_bytes()).decode("utf-8"))
    return "\n".join([*texts, *(path.name for path in folder.rglob("*"))])


def test_an_entry_holds_what_it_should(built: Path, run_folder: Path) -> None:
    content = read_entry(built)
    assert sorted(path.relative_to(built).as_posix() for path in built.rglob("*") if path.is_file()) == [
        "entry.json",
        *(f"responses/{task}.jsonl.zst" for task in sorted(TASKS)),
    ]
    assert content["model"] == {"id": "Org/Model", "revision": "abc123", "backend": "aes_baseline"}
    assert (content["evaluator"], content["date"], content["schema_version"]) == ("A. Evaluator", "2026-01-02", "1")
    assert set(content["versions"]["libraries"]) >= {"torch", "transformers", "sacrebleu", "nltk", "scipy", "numpy"}
    task = content["tasks"][ONE]
    assert (task["n"], task["n_expected"], task["parse_rate"], task["version"]) == (28, 28, 1.0, "1-A")
    settings = (
        '{"decoding":{"do_sample":false,"max_new_tokens":800,"num_beams":1,"temperature":0,"top_p":1,"until":[]},'
        '"images":{"contact_sheet":false,"icc":"ignore","image_fit":"pad","image_size":448}}'
    )
    digest_of_settings = hashlib.sha256(settings.encode()).hexdigest()[:8]
    assert task["signature"] == (
        f"task:{ONE}|v:1-A|data:{task['data_sha256'][:8]}|prompt:{task['prompts'][0]['sha256'][:8]}|"
        f"set:{digest_of_settings}|parser:2|boot:1000/0|n:28|version:{content['versions']['plugin']}"
    )
    assert task["decoding"] == {
        "max_new_tokens": 800,
        "temperature": 0,
        "top_p": 1.0,
        "num_beams": 1,
        "do_sample": False,
        "until": [],
    }
    assert task["images"] == {"image_fit": "pad", "image_size": 448, "icc": "ignore", "contact_sheet": False}
    accuracy = task["metrics"]["accuracy"]
    assert accuracy["value"] == accuracy["numerator"] / accuracy["denominator"]
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]
    assert accuracy["per_item_sha256"] is None
    assert re.fullmatch("[0-9a-f]{64}", task["metrics"]["macro_f1"]["per_item_sha256"])
    for name in TASKS:
        assert {frozenset(row) for row in read_lines(built, name)} == {frozenset({"id", "response", "record"})}


def test_the_figures_are_the_harness_s(built: Path, run_folder: Path) -> None:
    (results,) = run_folder.rglob("*_results.json")
    content = read_entry(built)
    compared = 0
    for name, values in json.loads(results.read_text())["results"].items():
        for key, value in values.items():
            metric = content["tasks"][name]["metrics"].get(key.removesuffix(",none"))
            if metric is not None and isinstance(value, float):
                assert metric["value"] == pytest.approx(value, abs=1e-12)
                compared += 1
    assert compared == 6 + 11 + 3 * 6 + 5 * 2  # of each of the five tasks failed_requests and reasoning_rate
    critique = content["tasks"]["critiquecanvas_demo"]["metrics"]
    assert critique["bert_f1"]["value"] is None
    assert "encoder" in critique["bert_f1"]["reason"]
    assert critique["avg_length"]["unit"] == "words"
    assert content["tasks"]["critiquecanvas_demo"]["prompts"][0]["id"] == "instruction"
    breakdowns = content["tasks"]["vab_tb1_demo"]["breakdowns"]
    assert set(breakdowns) == {"domain", "n_images", "substyle", "chosen_position"}
    chosen: Counter[int] = Counter()  # position of the best image, over the answers that were read
    for line in read_lines(built, "vab_tb1_demo"):
        if line["record"]["answer"] is not None:
            chosen["ABCDEF".index(line["record"]["parsed"]["best"]) + 1] += 1
    assert {
        int(place): own["share"]["numerator"]
        for place, own in breakdowns["chosen_position"].items()
        if own["share"]["numerator"]
    } == chosen
    assert "best_pass^3" in content["tasks"]["vab_tb1_demo"]["metrics"]


def test_torchrun_s_layout_and_a_results_file_itself(tmp_path: Path) -> None:
    flat = runs.write_run(tmp_path / "flat", runs.demo_answers(ONE))
    hidden = runs.write_run(tmp_path / "deep" / ".__m", runs.demo_answers(ONE))
    entries = [build([place], tmp_path / f"e{number}", WANTED) for number, place in enumerate([flat.parent, flat])]
    entries.append(build([hidden.parents[1]], tmp_path / "e2", WANTED))
    assert entries[0] == entries[1] == entries[2]


def test_fineartbench_with_the_authors_files(tmp_path: Path) -> None:
    names = {"global": "fineartbench_2afc_global", "instance": "fineartbench_2afc_instance_cot"}
    answers = {}
    for mode, name in names.items():
        documents = runs.fineartbench_documents(mode, fineartbench_data.read(f"{mode}_annotation.json"))
        reply = runs.oracle(0.7)(name)
        answers[name] = [(document, reply(document)) for document in documents]
    runs.write_run(tmp_path / "out", answers)
    data = tmp_path / "data"
    data.mkdir()
    (data / "fineartbench").symlink_to(fineartbench_data.folder())
    made = build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", data=data))
    one = made.tasks[names["global"]]
    assert (one.n, one.n_expected) == (5000, 5000)
    assert one.data_sha256 is not None
    for protocol in ("official", "aligned"):
        for rating in ("elo", "bt"):
            metric = one.metrics[f"artist_{rating}_rho_{protocol}"]
            assert metric.unit == "rho"
            assert metric.value is not None
            assert metric.value > 0.8
            assert f"task_{rating}_rho_{protocol}" in made.tasks[names["instance"]].metrics
    assert one.metrics["pair_agreement"].denominator == one.metrics["pair_agreement"].n
    assert len(one.breakdowns["artist"]) == 10
    from lmms_aes_tasks.leaderboard.verify import verify_entry

    assert verify_entry(tmp_path / "entry", data).status == "recomputed"
    assert verify_entry(tmp_path / "entry").status == "recomputed"


# -- Nothing local goes out -------------------------------------------------------------------------------------------


def test_secrets_everywhere_and_none_in_the_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {
        "key": "sk-PLANTEDabcdefgh0123456789",
        "token": "hf_PLANTEDabcdefgh0123456789",
        "home": "/home/planted-user/models/secret-model",
        "user": "planted-user",
        "host": "planted-host.internal.example",
        "login": "AKIAPLANTED0123456789",
    }
    monkeypatch.setenv("OPENAI_API_KEY", secrets["key"])
    monkeypatch.setenv("HF_TOKEN", secrets["token"])
    args = (
        f"pretrained={secrets['home']},api_key={secrets['key']},base_url=http://{secrets['host']}:8000/v1,"
        f"dtype={secrets['token']},attn_implementation={secrets['home']},max_pixels=1003520,torch_dtype=bfloat16,"
        f"min_pixels={secrets['key']}"
    )
    config = {
        "model": "openai",
        "model_args": args,
        "model_backend": secrets["home"],
        "gen_kwargs": {"max_new_tokens": 64, "api_key": secrets["key"], "temperature": secrets["home"]},
        "use_cache": secrets["home"],
        "device": secrets["host"],
        "torch_seed": 1234,
        "resolved_cli_args": {"model_args": args, "output_path": secrets["home"], "wandb_args": secrets["login"]},
        "env": {"HF_TOKEN": secrets["token"], "USER": secrets["user"], "HOSTNAME": secrets["host"]},
    }
    prompt = tmp_path / f"{secrets['user']}.txt"
    prompt.write_text("{question} {options} " + secrets["key"])
    task_config = {
        "dataset_kwargs": {"data_files": {"test": f"{secrets['home']}/card.json"}},
        "generation_kwargs": {"until": [secrets["home"]], "max_new_tokens": 800, "headers": secrets["key"]},
        "lmms_eval_specific_kwargs": {
            "default": {"image_fit": "pad", "image_size": 224},
            "openai": {"prompt_file": str(prompt), "pre_prompt": secrets["home"], "image_fit": secrets["home"]},
        },
        "metadata": {"benchmark": "contextcanvas", "version": secrets["home"]},
    }
    results = runs.write_run(tmp_path / "out", runs.demo_answers(ONE), config=config, task_configs={ONE: task_config})
    content = json.loads(results.read_text())
    content |= {
        "model_name": secrets["home"],
        "git_hash": secrets["host"],
        "system_instruction": f"You are {secrets['user']}",
    }
    content["results"][ONE]["note,none"] = secrets["key"]
    results.write_text(json.dumps(content))
    (samples,) = results.parent.glob("*.jsonl")
    lines = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
    for line in lines:
        line |= {"input_media": [secrets["home"]], "arguments": secrets["key"], "user": secrets["user"]}
        line["record"] |= {"path": secrets["home"], "host": secrets["host"], "api_key": secrets["key"]}
        line["input"] = f"{secrets['home']} {line['input']}"
    samples.write_text("\n".join(map(json.dumps, lines)), "utf-8")

    build([tmp_path / "out"], tmp_path / "entry", WANTED)
    text = everything(tmp_path / "entry")
    for secret in secrets.values():
        assert secret not in text
    for local in ("PLANTED", "planted", str(tmp_path), str(Path.home()), socket.gethostname(), "/card.json", "http"):
        assert local not in text
    assert not re.search(rf"\b{re.escape(getpass.getuser())}\b", text)
    task = read_entry(tmp_path / "entry")["tasks"][ONE]
    assert task["decoding"]["max_new_tokens"] == 64
    assert task["decoding"]["torch_dtype"] == "bfloat16"
    assert not {"until", "temperature", "dtype", "attn_implementation", "api_key"} & set(task["decoding"])
    assert task["images"]["max_pixels"] == 1003520
    assert not {"min_pixels", "prompt_file", "pre_prompt", "image_fit"} & set(task["images"])
    assert re.fullmatch("[0-9a-f]{64}", task["images"]["pre_prompt_sha256"])
    assert [prompt["id"] for prompt in task["prompts"]] == ["other"]
    assert task["version"] == "1-A"


def test_the_last_look_names_the_field_and_not_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.write_run(tmp_path / "out", runs.demo_answers(ONE))
    monkeypatch.setenv("MY_SERVICE_TOKEN", "correct horse battery")
    for evaluator, what in (
        ("me, correct horse battery", "$MY_SERVICE_TOKEN"),
        (f"me at {Path.cwd()}", "the working folder"),
        ("sk-abcdefgh12345678", "a key, a token or a local path"),
    ):
        with pytest.raises(BuildError) as error:
            build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", evaluator=evaluator))
        assert str(error.value) == f"evaluator would publish {what}. Change it and build again."
    assert not (tmp_path / "entry").exists()


def test_half_a_surrogate_pair_does_not_break_an_entry(tmp_path: Path) -> None:
    def strange(name: str) -> runs.Reply:
        return lambda document: '{"answer": "A", "reason": "\ud83d"}'

    answers = runs.demo_answers(ONE)
    answers[ONE] = [(document, strange(ONE)(document)) for document, _ in answers[ONE]]
    results = runs.write_run(tmp_path / "out", {ONE: [(d, '{"answer": "A", "reason": "?"}') for d, _ in answers[ONE]]})
    (samples,) = results.parent.glob("*.jsonl")
    samples.write_text(samples.read_text().replace('"reason\\": \\"?\\"', '"reason\\": \\"\\ud83d\\"'))
    build([tmp_path / "out"], tmp_path / "entry", WANTED)
    assert "\ud83d" not in everything(tmp_path / "entry")


# -- Refused ----------------------------------------------------------------------------------------------------------


def changed_results(folder: Path, change: Any) -> None:
    (path,) = folder.rglob("*_results.json")
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_run_with_a_limit_is_refused_and_can_be_taken(tmp_path: Path) -> None:
    answers = runs.demo_answers(ONE)
    runs.write_run(tmp_path / "out", {ONE: answers[ONE][:7]}, config={"limit": 7})
    with pytest.raises(PredictionError, match="21 missing: demo-08"):
        build([tmp_path / "out"], tmp_path / "entry", WANTED)
    made = build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", allow_incomplete=True))
    assert (made.tasks[ONE].n, made.tasks[ONE].n_expected) == (7, 28)


def test_without_data_the_published_number_counts(tmp_path: Path) -> None:
    documents = runs.contextcanvas_documents(300)
    reply = runs.oracle()("contextcanvas")
    runs.write_run(tmp_path / "out", {"contextcanvas": [(document, reply(document)) for document in documents]})
    with pytest.raises(PredictionError, match=r"300 samples of contextcanvas, 301 expected. Run it whole"):
        build([tmp_path / "out"], tmp_path / "entry", WANTED)
    changed_results(tmp_path, lambda own: own["config"].update(limit=300))
    with pytest.raises(PredictionError, match="contextcanvas was run with --limit or --offset"):
        build([tmp_path / "out"], tmp_path / "entry", WANTED)


def test_a_file_with_a_run_twice(tmp_path: Path) -> None:
    results = runs.write_run(tmp_path / "out", runs.demo_answers(ONE))
    (samples,) = results.parent.glob("*.jsonl")
    samples.write_text(samples.read_text() * 2)
    with pytest.raises(PredictionError, match="28 repeated: demo-01"):
        build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", allow_incomplete=True))


def test_two_runs_of_one_task(tmp_path: Path) -> None:
    first = runs.write_run(tmp_path / "a", runs.demo_answers(ONE), date="20260101_000000")
    second = runs.write_run(tmp_path / "a", runs.demo_answers(ONE), date="20260102_000000")
    with pytest.raises(SourceError) as error:
        build([tmp_path / "a"], tmp_path / "entry", WANTED)
    assert f"{ONE} was run 2 times: name one of {first}, {second}" in str(error.value)
    assert build([second], tmp_path / "entry", WANTED).date == "2026-01-02"


def test_runs_of_two_models_no_samples_no_results(tmp_path: Path) -> None:
    runs.write_run(tmp_path / "a", runs.demo_answers(ONE))
    runs.write_run(tmp_path / "b", runs.demo_answers("vab_top1_demo"), config={"model": "openai"})
    with pytest.raises(SourceError, match="runs with different --model: an entry is of one model"):
        build([tmp_path / "a", tmp_path / "b"], tmp_path / "entry", WANTED)
    (samples,) = (tmp_path / "a").glob("*.jsonl")
    samples.unlink()
    with pytest.raises(SourceError, match=f"{ONE}: no {samples.name} beside its results. Run lmms-eval with --log_sam"):
        build([tmp_path / "a"], tmp_path / "entry", WANTED)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="empty: no results of a task of ours"):
        build([tmp_path / "empty"], tmp_path / "entry", WANTED)
    with pytest.raises(SourceError, match="nowhere does not exist"):
        build([tmp_path / "nowhere"], tmp_path / "entry", WANTED)
    with pytest.raises(SourceError, match="no task other: use contextcanvas, "):
        build([tmp_path / "a"], tmp_path / "entry", EntryRequest("Org/Model", tasks=("other",)))


def test_figures_that_are_not_the_samples(tmp_path: Path) -> None:
    runs.write_run(tmp_path / "out", runs.demo_answers(ONE))
    changed_results(tmp_path, lambda own: own["results"][ONE].update({"accuracy,none": 0.99}))
    with pytest.raises(BuildError, match=r"- accuracy is 0\.75 from the samples and 0\.99 in the results"):
        build([tmp_path / "out"], tmp_path / "entry", WANTED)


@pytest.mark.parametrize("model", ["Model", "Org/", "../x", "Org/Model/x", "Org/<script>", "Org/../x"])
def test_a_model_id_that_is_none(model: str, tmp_path: Path) -> None:
    runs.write_run(tmp_path / "out", runs.demo_answers(ONE))
    with pytest.raises(BuildError, match=r"--model-id is .*: use ORG/NAME"):
        build([tmp_path / "out"], tmp_path / "entry", EntryRequest(model))
    with pytest.raises(BuildError, match="--revision is"):
        build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", "../../etc"))


def test_an_entry_that_is_there_stays(entry: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in entry.rglob("*") if path.is_file()}

    def same() -> bool:
        return before == {path: path.read_bytes() for path in entry.rglob("*") if path.is_file()}

    runs.write_run(tmp_path / "out", runs.demo_answers(ONE))
    with pytest.raises(BuildError, match=r"is there already. Name another folder, or replace it with --force"):
        build([tmp_path / "out"], entry, WANTED)
    assert same()
    changed_results(tmp_path / "out", lambda own: own["results"][ONE].update({"accuracy,none": 0.99}))
    with pytest.raises(BuildError):
        build([tmp_path / "out"], entry, WANTED, force=True)
    assert same()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["entry", "out"]
    changed_results(tmp_path / "out", lambda own: own["results"][ONE].update({"accuracy,none": 0.75}))
    build([tmp_path / "out"], entry, WANTED, force=True)
    assert set(Entry.model_validate(read_entry(entry)).tasks) == {ONE}
    (entry / "notes.txt").write_text("mine")
    with pytest.raises(BuildError, match=r"is no folder of an entry alone. Remove it yourself"):
        build([tmp_path / "out"], entry, WANTED, force=True)
    assert (entry / "notes.txt").read_text() == "mine"


def test_data_of_another_gold_label(tmp_path: Path, run_folder: Path) -> None:
    """A samples file whose gold labels are not the data's has other figures than the harness wrote."""
    shutil.copytree(run_folder, tmp_path / "out")
    (samples,) = (tmp_path / "out").rglob(f"*{ONE}.jsonl")
    lines = [json.loads(line) for line in samples.read_text("utf-8").splitlines()]
    lines[0]["record"]["gold"] = "B" if lines[0]["record"]["gold"] == "A" else "A"
    samples.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    made = build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model", tasks=(ONE,)))
    assert made.tasks[ONE].metrics["accuracy"].value == 0.75  # the data's label counts, not the file's


def test_a_figure_that_some_resamples_do_not_define_has_no_interval(tmp_path: Path) -> None:
    """Critiques that are mostly empty: a resample of empty ones alone has no density of terms."""
    task = "critiquecanvas_demo"
    answers = [(doc, "Warm color and soft lighting." if place < 2 else "") for place, doc in
               enumerate(runs.demo_documents(task))]  # fmt: skip
    runs.write_run(tmp_path / "out", {task: answers})
    entry = build([tmp_path / "out"], tmp_path / "entry", EntryRequest("Org/Model"))
    density = entry.tasks[task].metrics["density"]
    assert density.value is not None
    assert (density.low, density.high) == (None, None)
    assert entry.tasks[task].metrics["avg_length"].low is not None
