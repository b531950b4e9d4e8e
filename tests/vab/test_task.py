"""The Visual Aesthetic Benchmark: records, expansion, prompts, messages, scoring of one trial, baselines."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from scipy import stats

from lmms_aes_tasks import records, sources
from lmms_aes_tasks.records import SourceError, import_file
from lmms_aes_tasks.settings import load_prompt, read_settings
from lmms_aes_tasks.sources import canonical_file, load, read_card
from lmms_aes_tasks.task_folders import TASKS_PATH
from lmms_aes_tasks.utils.permutations import trial_permutations
from lmms_aes_tasks.utils.selection import Trial, ap_at_1, pass_pow_3, position_test, random_baseline
from lmms_aes_tasks.vab import prompts
from lmms_aes_tasks.vab import task as vab
from lmms_aes_tasks.vab.task import (
    SCHEMA,
    Settings,
    aggregate_incomplete_tasks,
    doc_to_messages,
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    expand,
    labels_of,
    normalise_task,
    process_results,
)
from tests.colours import COLOURS, nearest, write_colour_tasks

FOLDER = TASKS_PATH / "vab"


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Five tasks of 2 to 6 images of single colours."""
    monkeypatch.setenv("LMMS_AES_DATA", str(tmp_path))
    write_colour_tasks(tmp_path / "vab", [2, 3, 4, 5, 6])
    return load(read_card("vab"))


def colours_of(images: list[Any]) -> list[int]:
    return [nearest(image.getpixel((image.width // 2, image.height // 2))) for image in images]


# -- documents --------------------------------------------------------------------------------------------------------


def test_each_task_becomes_three_adjacent_trials(tasks: Any) -> None:
    docs = expand(tasks, "top1")
    assert len(docs) == 15
    assert docs["task_id"] == [f"colour-{i}" for i in range(5) for _ in range(3)]
    assert docs["trial"] == [0, 1, 2] * 5
    assert docs["id"] == [f"colour-{i}#{trial}" for i in range(5) for trial in range(3)]
    for i in range(5):
        assert docs["permutation"][3 * i : 3 * i + 3] == trial_permutations(f"colour-{i}", i + 2)


def test_expansion_copies_no_image(tasks: Any) -> None:
    docs = expand(tasks, "top1")
    files = {file["filename"] for file in tasks.cache_files}
    assert {file["filename"] for file in docs.cache_files} == files  # the same memory-mapped file, and no other
    added = sum(
        column.nbytes for name, column in zip(docs.column_names, docs.data.columns, strict=True) if name != "images"
    )
    assert added < 20_000


def test_tb1_of_two_images_is_asked_as_best(tasks: Any) -> None:
    docs = expand(tasks, "tb1")
    assert docs["prompt_type"][:3] == ["pick_best"] * 3
    assert set(docs["prompt_type"][3:]) == {"pick_best_and_worst"}
    assert set(expand(tasks, "bot1")["prompt_type"]) == {"pick_worst"}


def problems_of(**changes: Any) -> list[str]:
    record = {
        "id": "t",
        "domain": "fine-art",
        "substyle": "s",
        "n_images": 3,
        "images": ["a", "b", "c"],
        "labels": ["A", "B", "C"],
        "ground_truth_best": "A",
        "ground_truth_worst": "C",
    }
    return normalise_task(record | changes)[1]


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({}, []),
        ({"n_images": None, "labels": None}, []),
        ({"n_images": "3", "images": '["a", "b", "c"]'}, []),
        ({"labels": 3}, ["labels are [3]; give A, B, C, in this order"]),
        ({"images": ["a"], "n_images": 1, "labels": None}, ["1 images; give 2 to 26"]),
        ({"images": ["a"] * 27, "n_images": 27, "labels": None}, ["27 images; give 2 to 26"]),
        ({"ground_truth_best": "D"}, ["ground_truth_best is 'D'; use one of A, B, C"]),
        ({"ground_truth_worst": None}, ["ground_truth_worst is None; use one of A, B, C"]),
        ({"ground_truth_worst": "A"}, ["best and worst are both 'A'; give two labels"]),
        ({"n_images": 4}, ["n_images is 4 and there are 3 images; make them agree"]),
        ({"labels": ["A", "C", "B"]}, ["labels are ['A', 'C', 'B']; give A, B, C, in this order"]),
        ({"id": ""}, ["empty task_id; give it a text"]),
    ],
)
def test_unsound_tasks_are_named(changes: dict[str, Any], problems: list[str]) -> None:
    assert problems_of(**changes) == problems


def test_every_unsound_task_is_listed(tmp_path: Path) -> None:
    write_colour_tasks(tmp_path, [2, 3, 4])
    path = tmp_path / "tasks.json"
    tasks = json.loads(path.read_text())
    tasks[0]["ground_truth_worst"] = "A"
    tasks[1]["ground_truth_best"] = "E"
    tasks[2]["task_id"] = "colour-1"
    path.write_text(json.dumps(tasks))
    with pytest.raises(SourceError) as error:
        import_file(tmp_path, tmp_path / "out" / "x.parquet", SCHEMA)
    assert str(error.value).splitlines() == [
        f"{path}: 3 problem(s); nothing was written. Correct them:",
        "  - record 1 (id 'colour-0'): best and worst are both 'A'; give two labels",
        "  - record 2 (id 'colour-1'): ground_truth_best is 'E'; use one of A, B, C",
        "  - record 3: id 'colour-1' is already that of record 2",
    ]


# -- the Hub ----------------------------------------------------------------------------------------------------------


def test_without_access_one_message_says_where_to_accept_and_how_to_log_in() -> None:
    with pytest.raises(SourceError) as error:
        canonical_file(read_card("vab"))
    message = str(error.value)
    page = "https://huggingface.co/datasets/BakeLab/Visual-Aesthetic-Benchmark"
    assert message.startswith(
        "Visual Aesthetic Benchmark: no data. $LMMS_AES_DATA/vab does not exist, and "
        "BakeLab/Visual-Aesthetic-Benchmark could not be loaded from the Hub ("
    )
    assert message.endswith(
        f"). Either accept its terms at {page} and log in with `hf auth login`, and run again; or put the records and "
        "images into a folder SOURCE, `export LMMS_AES_DATA=FOLDER`, and `lmms-aes data import vab SOURCE`. "
        "To try the suite without data, run the task vab_demo."
    )
    assert len(message.splitlines()) == 1


def test_the_hubs_data_set_is_brought_to_the_canonical_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub's side is a data set of the published fields; the loading code beyond the download is the real one."""
    import datasets

    write_colour_tasks(tmp_path, [2, 3])
    rows = json.loads((tmp_path / "tasks.json").read_text())
    for row in rows:
        row["images"] = [{"path": None, "bytes": (tmp_path / name).read_bytes()} for name in row["images"]]
    features = datasets.Features(
        {
            "task_id": datasets.Value("string"),
            "domain": datasets.Value("string"),
            "substyle": datasets.Value("string"),
            "n_images": datasets.Value("int64"),
            "images": datasets.Sequence(datasets.Image()),
            "labels": datasets.Sequence(datasets.Value("string")),
            "ground_truth_best": datasets.Value("string"),
            "ground_truth_worst": datasets.Value("string"),
        }
    )
    hub = datasets.Dataset.from_list(rows, features=features)
    calls = []

    def load_dataset(path: str, **options: Any) -> Any:
        calls.append((path, options))
        return hub

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setenv("LMMS_AES_CACHE", str(tmp_path / "cache"))
    path = canonical_file(read_card("vab"))
    assert canonical_file(read_card("vab")) == path  # asked for once
    assert calls == [("BakeLab/Visual-Aesthetic-Benchmark", {"split": "test", "revision": None})]
    report, found = records.check_records(path, SCHEMA)
    assert report.problems == []
    assert [row["id"] for row in found] == ["colour-0", "colour-1"]


# -- what a model sees ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3, 4])
def test_for_every_permutation_each_label_stands_beside_its_image(size: int, tasks: Any) -> None:
    base = dict(expand(tasks, "top1")[3 * (size - 2)])
    for permutation in itertools.permutations(range(size)):
        doc = base | {"permutation": list(permutation)}
        (message,) = doc_to_messages(doc)
        first, *rest = message["content"]
        assert first == {"type": "text", "text": doc_to_text(doc)}
        assert [part["text"] for part in rest[::2]] == [f"Image {name}:" for name in labels_of(size)]
        assert colours_of([part["url"] for part in rest[1::2]]) == list(permutation)
        assert colours_of(doc_to_visual(doc)) == list(permutation)


def test_the_text_says_which_image_is_which_and_not_how_they_were_given(tasks: Any) -> None:
    docs = expand(tasks, "tb1")
    texts = [doc_to_text(doc) for doc in docs]
    assert texts[3] == texts[4] == texts[5]
    assert (
        "labelled A, B, C. Image A is the first image, Image B is the second image, Image C is the third image."
        in texts[3]
    )
    assert texts[3].endswith("\nBEST: X\nWORST: Y")
    assert texts[0].endswith("\nBEST: X")
    assert "WORST" not in texts[0]
    assert doc_to_text(expand(tasks, "bot1")[3]).endswith("\nWORST: X")
    for word in ("composition", "colour", "technique", "expresses"):
        assert word in texts[3]
    for hidden in ("colour-1", "s1", "illustration", "permutation"):
        assert hidden not in texts[3]


def test_a_document_without_its_images_has_the_same_text(tasks: Any) -> None:
    doc = dict(expand(tasks, "top1")[3])
    text = doc_to_text(doc)
    del doc["images"]
    assert doc_to_text(doc) == text


def test_the_rubric_is_that_of_the_domain(tasks: Any) -> None:
    doc = dict(expand(tasks, "top1")[3])
    for domain in ("fine-art", "illustration", "photograph", "default"):
        text = doc_to_text(doc | {"domain": domain}, {"rubric": True})
        assert prompts.rubrics()[domain] in text
        assert prompts.rubrics()[domain] not in doc_to_text(doc | {"domain": domain})
    assert prompts.rubrics()["default"] in doc_to_text(doc | {"domain": "else"}, {"rubric": True})


def test_a_users_prompts(tasks: Any, tmp_path: Path) -> None:
    (tmp_path / "both.txt").write_text("BOTH {n}: {labels}|{options}")
    (tmp_path / "pair.txt").write_text("PAIR {labels}")
    kwargs = {"prompt_file": str(tmp_path / "both.txt"), "pair_prompt_file": str(tmp_path / "pair.txt")}
    docs = expand(tasks, "tb1")
    assert doc_to_text(docs[3], kwargs) == "BOTH 3: A, B, C|A. Image A\nB. Image B\nC. Image C"
    assert doc_to_text(docs[0], kwargs) == "PAIR A, B"
    with pytest.raises(ValueError, match=r"lacks \{rubric\}"):
        doc_to_text(docs[3], kwargs | {"rubric": True})
    with pytest.raises(ValueError, match=r"^rubric is 'yes': use true or false$"):
        read_settings(Settings, {"rubric": "yes"})


def test_a_samples_text_tells_its_prompt(tasks: Any, tmp_path: Path) -> None:
    for question, prompt_id in (("top1", "vab-best-1"), ("bot1", "vab-worst-1"), ("tb1", "vab-best-and-worst-1")):
        doc = expand(tasks, question)[3]
        digest = load_prompt(prompt_id, None, ("labels",)).sha256
        assert prompts.prompt_name(doc_to_text(doc)) == f"{prompt_id} sha256:{digest}"
        words = json.dumps(prompts.rubrics(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        theirs = hashlib.sha256(words.encode()).hexdigest()[:8]
        with_rubric = prompts.prompt_name(doc_to_text(doc, {"rubric": True}))
        assert with_rubric == f"{prompt_id} sha256:{digest} with vab-rubrics-1@{theirs}"
        assert prompts.prompt_name(doc_to_text(doc, {"pre_prompt": "Hm. "})) == "other"


def test_images_are_as_they_are_unless_a_fit_is_set(tasks: Any) -> None:
    doc = expand(tasks, "top1")[3]
    assert {image.size for image in doc_to_visual(doc)} == {(40, 40)}
    assert {image.size for image in doc_to_visual(doc, {"image_fit": "pad", "image_size": 64})} == {(64, 64)}


# -- scoring ----------------------------------------------------------------------------------------------------------


def test_answers_are_mapped_back_for_every_permutation(tasks: Any) -> None:
    base = dict(expand(tasks, "tb1")[6])  # four images, best A, worst D as given
    for permutation in itertools.permutations(range(4)):
        doc = base | {"permutation": list(permutation)}
        for best, worst in itertools.permutations(range(4), 2):
            found = process_results(doc, [f"BEST: {'ABCD'[best]}\nWORST: {'ABCD'[worst]}"])
            given = ["ABCD"[permutation[best]], "ABCD"[permutation[worst]]]
            assert found["record"]["answer"] == given
            assert found["score"] == float(given == ["A", "D"])
        best, worst = doc_to_target(doc).split(",")
        assert process_results(doc, [f"BEST: {best}\nWORST: {worst}"])["score"] == 1.0


def test_of_two_images_the_worst_is_the_other_one(tasks: Any) -> None:
    for doc in list(expand(tasks, "tb1"))[:3]:
        for position in range(2):
            found = process_results(doc, [f"BEST: {'AB'[position]}"])
            assert found["record"]["parsed"] == {"best": "AB"[position]}
            best = doc["permutation"][position]
            assert found["record"]["answer"] == ["AB"[best], "AB"[1 - best]]
            assert found["ap@1"].positions == (position, 1 - position)
            assert found["score"] == float(best == 0)


def test_the_record(tasks: Any) -> None:
    doc = expand(tasks, "top1")[4]  # three images, second trial
    shown = "ABC"[doc["permutation"].index(0)]
    found = process_results(doc, [f"Well.\nbest: {shown}"])
    assert found["record"] == {
        "id": "colour-1#1",
        "task_id": "colour-1",
        "trial": 1,
        "question": "top1",
        "prompt_type": "pick_best",
        "permutation": doc["permutation"],
        "domain": "illustration",
        "substyle": "s1",
        "n_images": 3,
        "parsed": {"best": shown},
        "answer": ["A"],
        "gold": ["A"],
        "ground_truth_best": "A",
        "ground_truth_worst": "C",
        "rule": "tolerant",
        "failed": False,
        "reasoning": False,
        "reasoning_cut": False,
        "parser": vab.PARSER_VERSION,
    }
    assert str(found["ap@1"]) == "colour-1#1"
    assert (found["ap@1"].correct, found["ap@1"].strict) == (True, False)
    for responses in ([""], [], [None], ["BEST: Z"], ["\ud800"]):
        other = process_results(doc, responses)  # type: ignore[arg-type]
        assert list(other) == list(found)
        assert (other["record"]["answer"], other["score"]) == (None, 0.0)


def test_incomplete_tasks_are_said_aloud(capfd: pytest.CaptureFixture[str]) -> None:
    from loguru import logger

    seen: list[str] = []
    handle = logger.add(lambda message: seen.append(message.record["message"]))
    run = [Trial("t1", i, 2, ("A",), ("A",)) for i in range(3)] + [Trial("t2", 0, 2, ("A",), ("A",))]
    assert aggregate_incomplete_tasks(run) == 1.0
    assert aggregate_incomplete_tasks(run[:3]) == 0.0
    logger.remove(handle)
    assert seen == ["vab: 1 task(s) lack one of their 3 trials and are left out of pass^3 and order_flip_rate: t2"]


def test_the_yaml_names_what_the_code_has() -> None:
    text = (FOLDER / "vab_template").read_text("utf-8")
    config = yaml.safe_load(re.sub(r"!function \S+", "null", text))
    doc = {
        "id": "t#0",
        "task_id": "t",
        "trial": 0,
        "question": "top1",
        "prompt_type": "pick_best",
        "permutation": [0, 1],
        "domain": "d",
        "substyle": "s",
        "n_images": 2,
        "ground_truth_best": "A",
        "ground_truth_worst": "B",
    }
    returned = [key for key in process_results(doc, ["BEST: A"]) if key not in {"record", "score"}]
    assert sorted(item["metric"] for item in config["metric_list"]) == sorted(returned)
    for name in re.findall(r"!function lmms_aes_tasks\.vab\.(\w+)", text):
        assert callable(getattr(vab, name))
    assert read_settings(Settings, config["lmms_eval_specific_kwargs"]["default"]) == Settings()
    assert (config["generation_kwargs"]["temperature"], config["generation_kwargs"]["until"]) == (1.0, [])
    greedy = yaml.safe_load(re.sub(r"!function \S+", "null", (FOLDER / "vab_tb1_greedy.yaml").read_text()))
    assert (greedy["generation_kwargs"]["temperature"], greedy["generation_kwargs"]["do_sample"]) == (0, False)
    for variant in ("", "_demo", "_greedy", "_rubric"):
        group = yaml.safe_load((FOLDER / f"_vab{variant}_group.yaml").read_text())
        assert group["task"] == [f"vab_{question}{variant}" for question in ("top1", "bot1", "tb1")]
        for task in group["task"]:
            assert (FOLDER / f"{task}.yaml").is_file()


# -- baselines on a large set -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> list[dict[str, Any]]:
    """Documents of 2,000 generated tasks of two to six images, the best anywhere; no image is needed."""
    docs = []
    for number in range(2000):
        n_images = 2 + number % 5
        best = number // 5 % n_images
        for trial, permutation in enumerate(trial_permutations(f"g{number}", n_images)):
            docs.append(
                {
                    "id": f"g{number}#{trial}",
                    "task_id": f"g{number}",
                    "trial": trial,
                    "question": "top1",
                    "prompt_type": "pick_best",
                    "permutation": permutation,
                    "domain": "d",
                    "substyle": "s",
                    "n_images": n_images,
                    "ground_truth_best": labels_of(n_images)[best],
                    "ground_truth_worst": labels_of(n_images)[best - 1],
                }
            )
    return docs


def answered(docs: list[dict[str, Any]], strategy: str) -> list[Trial]:
    from lmms_aes_tasks.models.aes_baseline import choose

    replies = [vab.baseline_reply(d, choose(strategy, vab.baseline_choices(d), document=d["id"])) for d in docs]
    return [process_results(doc, [reply])["ap@1"] for doc, reply in zip(docs, replies, strict=True)]


@pytest.mark.harness
def test_always_first_shows_its_position_bias(large: list[dict[str, Any]]) -> None:
    run = answered(large, "first")
    test = position_test(run)
    assert all(counts[0] == sum(counts) for counts in test.counts.values())
    assert test.p == 0.0
    # exactly: right in all three trials means that the best stands first in all three orders
    best_first: dict[str, bool] = {}
    for doc in large:
        is_first = labels_of(doc["n_images"])[doc["permutation"][0]] == doc["ground_truth_best"]
        best_first[doc["task_id"]] = best_first.get(doc["task_id"], True) and is_first
    assert pass_pow_3(run).value == sum(best_first.values()) / 2000
    # near its exact value over random orders: the best is given first in 1/n of the tasks, and then stays first with
    # (1/2)^2 for two images (drawn anew) and ((n-1)!-1)((n-1)!-2)/((n!-1)(n!-2)) for more (no repeats)
    chance = {
        2: 1 / 2 / 4,
        3: 0.0,
        4: 5 * 4 / (23 * 22) / 4,
        5: 23 * 22 / (119 * 118) / 5,
        6: 119 * 118 / (719 * 718) / 6,
    }
    expected = sum(chance.values()) / 5
    assert stats.binomtest(round(pass_pow_3(run).value * 2000), 2000, expected).pvalue > 0.001


@pytest.mark.harness
def test_random_lies_in_the_interval_of_the_analytic_baseline(large: list[dict[str, Any]]) -> None:
    run = answered(large, "random")
    exact = random_baseline([doc["n_images"] for doc in large[::3]], "top1")
    ap, power = ap_at_1(run, 2_000), pass_pow_3(run, 2_000)
    assert ap.interval is not None
    assert power.interval is not None
    assert ap.interval.low <= exact["ap_at_1"] <= ap.interval.high
    assert power.interval.low <= exact["pass_pow_3"] <= power.interval.high


def test_the_demo_sets() -> None:
    card = read_card("vab_demo")
    report, rows = records.check_records(canonical_file(card), SCHEMA)
    assert report.problems == []
    counts = vab.count_cases(rows)
    assert {name: counts[name] for name in card.expected} == dict(card.expected)
    assert {row["domain"] for row in rows} == {"fine-art", "illustration", "photograph"}
    assert {row["n_images"] for row in rows} == {2, 3, 4, 5, 6}
    assert {row["substyle"] for row in rows} == {"blur", "noise", "exposure", "tilt", "crop"}
    assert len({row["ground_truth_best"] for row in rows}) > 2  # the best is not always given first
    assert all(len(set(row["image_sha256"])) == row["n_images"] for row in rows)  # every grade is another picture
    assert {"vab", "vab_demo"} <= set(sources.card_names())
    assert len(COLOURS) == 6
