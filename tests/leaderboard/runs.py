"""Runs as lmms-eval leaves them, made without it: the benchmarks' own functions over demo or generated documents."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_aes_tasks import sources
from lmms_aes_tasks.critiquecanvas import task as critiquecanvas
from lmms_aes_tasks.leaderboard.tasks import _merged, known_tasks
from lmms_aes_tasks.task_folders import TASKS_PATH
from lmms_aes_tasks.utils.permutations import trial_permutations
from lmms_aes_tasks.vab import task as vab

Document = Mapping[str, Any]
Reply = Callable[[Document], str]
_TEXT = (
    "The composition balance leads the eye through warm color and soft lighting while brushstrokes texture mood "
    "emotion symbolism technique detail contrast subject background depth harmony style appeal of the scene."
)
CRITIQUE_WORDS = _TEXT.split()


def task_yaml(name: str) -> dict[str, Any]:
    """A task's merged configuration."""
    (path,) = TASKS_PATH.glob(f"*/{name}.yaml")
    return _merged(path)


def function(dotted: str) -> Any:
    module, name = dotted.rsplit(".", 1)
    return getattr(importlib.import_module(module), name)


def demo_documents(name: str) -> list[dict[str, Any]]:
    """The demo documents of a task, without images."""
    task = known_tasks()[name]
    found = sources.load(sources.read_card(task.card))
    if task.benchmark == "vab":
        found = vab.expand(found, task.variant)
    rows: list[dict[str, Any]] = found.remove_columns("images").to_list()
    if task.benchmark == "critiquecanvas":
        rows = [row | {"source": task.card} for row in rows]
    return rows


def oracle(accuracy: float = 0.6, seed: int = 3) -> Callable[[str], Reply]:
    """A reply maker as `aes_baseline`'s oracle; critiques are drawn words."""

    def of_task(name: str) -> Reply:
        module = importlib.import_module(f"lmms_aes_tasks.{known_tasks()[name].benchmark}")

        def reply(document: Document) -> str:
            draw = random.Random(f"{seed}\0{name}\0{document['id']}")
            if module is critiquecanvas:
                words = [*CRITIQUE_WORDS, *document["reference"].split()]
                return " ".join(draw.choices(words, k=draw.randrange(20, 60))) + "."
            choices = module.baseline_choices(document)
            gold = module.doc_to_target(document)
            choice = gold if draw.random() < accuracy else draw.choice(choices)
            text: str = module.baseline_reply(document, choice)
            return text

        return reply

    return of_task


def sample(number: int, config: Mapping[str, Any], module: Any, document: Document, response: str) -> dict[str, Any]:
    """A line of a samples file, as `EvaluationTracker` writes it."""
    results = function(config["process_results"])(document, [response])
    line = {
        "doc_id": number,
        "target": str(module.doc_to_target(document)),
        "filtered_resps": response,
        "doc_hash": "0" * 64,
        **json.loads(json.dumps(results, default=str)),
    }
    kwargs = (config.get("lmms_eval_specific_kwargs") or {}).get("default")
    return line | {"input": module.doc_to_text(document, kwargs)}


def write_run(
    folder: Path,
    answers: Mapping[str, Sequence[tuple[Document, str]]],
    *,
    date: str = "20260102_030405",
    config: Mapping[str, Any] | None = None,
    task_configs: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """Write a results file and samples files.

    Args:
        folder: lmms-eval's folder of the model.
        answers: (document, response) by task.
        date: As in the files' names.
        config: Changes to the run's arguments.
        task_configs: Changes to tasks' configurations.

    Returns:
        The results file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {
        "results": {},
        "configs": {},
        "n-samples": {},
        "date": date,
        "config": {
            "model": "aes_baseline",
            "model_args": "strategy=oracle",
            "limit": None,
            "offset": 0,
            "gen_kwargs": "",
        }
        | dict(config or {}),
    }
    for name, own in answers.items():
        merged = task_yaml(name)
        module = importlib.import_module(f"lmms_aes_tasks.{merged['metadata']['benchmark']}")
        process = function(merged["process_results"])
        lines, found = [], []
        for number, (document, response) in enumerate(own):
            lines.append(json.dumps(sample(number, merged, module, document, response), ensure_ascii=False) + "\n")
            found.append(process(document, [response]))
        (folder / f"{date}_samples_{name}.jsonl").write_text("".join(lines), "utf-8")
        values: dict[str, Any] = {"alias": name, "record,none": []}
        for metric in merged["metric_list"]:
            metric_name = metric["metric"]
            embedding = metric_name in critiquecanvas.EMBEDDING_METRICS
            value = (
                "not computed" if embedding else function(metric["aggregation"])([one[metric_name] for one in found])
            )
            values |= {f"{metric_name},none": value, f"{metric_name}_stderr,none": "N/A"}
        content["results"][name] = values
        content["n-samples"][name] = {"original": len(own), "effective": len(own)}
        content["configs"][name] = json.loads(json.dumps(merged)) | dict((task_configs or {}).get(name, {}))
    results = folder / f"{date}_results.json"
    results.write_text(json.dumps(content), "utf-8")
    return results


def demo_answers(*names: str, reply: Callable[[str], Reply] | None = None) -> dict[str, list[tuple[Document, str]]]:
    """Answers to whole demo tasks."""
    made = reply or oracle()
    return {name: [(doc, made(name)(doc)) for doc in demo_documents(name)] for name in names}


# -- Documents of full size -------------------------------------------------------------------------------------------


def contextcanvas_documents(n: int = 301, three_way: int = 10) -> list[dict[str, Any]]:
    draw = random.Random(0)
    made = []
    for number in range(n):
        texts = ["Yes", "No"] if number >= three_way else ["The left", "The right", "Neither"]
        options = [{"id": "ABC"[place], "text": text} for place, text in enumerate(texts)]
        gold = draw.choice(options)["id"]
        made.append(
            {"id": f"case-{number:03d}", "question": f"Is it fit for use {number}?", "options": options, "gold": gold}
            | {"n_images": 1}
        )
    return made


def vab_documents(question: str, n: int = 400) -> list[dict[str, Any]]:
    draw = random.Random(1)
    made = []
    for number in range(n):
        size = draw.choice([2, 2, 3, 3, 4, 5, 6])
        best, worst = draw.sample(vab.labels_of(size), 2)
        domain = draw.choice(["fine-art", "illustration", "photograph"])
        task = {
            "task_id": f"{domain}_{number}",
            "domain": domain,
            "substyle": f"{domain} {draw.randrange(8)}",
            "n_images": size,
            "ground_truth_best": best,
            "ground_truth_worst": worst,
        }
        for trial, permutation in enumerate(trial_permutations(task["task_id"], size)):
            own = {"id": f"{task['task_id']}#{trial}", "trial": trial, "permutation": permutation}
            made.append(task | own | {"question": question, "prompt_type": vab.asked(question, size)})
    return made


def critique_documents(n: int = 6000, words: int = 130) -> list[dict[str, Any]]:
    draw = random.Random(2)
    made = []
    for number in range(n):
        text = " ".join(draw.choices(CRITIQUE_WORDS, k=words)) + f" It is number {number}."
        instruction = draw.choice(["Critique this image.", "What of the lighting and the color?", "Describe its mood."])
        made.append(
            {
                "id": f"critique-{number:04d}",
                "domain": critiquecanvas.DOMAINS[number % 3],
                "instruction": instruction,
                "reference": text,
                "source": "critiquecanvas",
            }
        )
    return made


def fineartbench_documents(mode: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Documents from the authors' annotation file."""
    return [
        {
            "id": f"{mode}-{row['id']}",
            "number": row["id"],
            "content_index": row["content_index"],
            "style_index": row["style_index"],
            "style_prompt": "a style",
            "method_left": row["method_left"],
            "method_right": row["method_right"],
            "human": "skipped" if row["winner"] is None else row["winner"],
            "missing_pairs": 0,
        }
        for row in rows
    ]


def drawn_pairs(n: int = 5000) -> list[dict[str, Any]]:
    """Pairs in the form of the authors' annotation file: 250 tasks of 20, ten methods."""
    draw = random.Random(4)
    methods = [f"Method{number}" for number in range(10)]
    made = []
    for number in range(1, n + 1):
        left, right = draw.sample(methods, 2)
        better = "left" if methods.index(left) < methods.index(right) else "right"
        winner = draw.choices([better, "left", None, ""], [0.6, 0.3, 0.05, 0.05])[0]
        task = (number - 1) // 20
        made.append(
            {"id": number, "content_index": task % 100, "style_index": task, "method_left": left, "method_right": right}
            | {"winner": winner}
        )
    return made
