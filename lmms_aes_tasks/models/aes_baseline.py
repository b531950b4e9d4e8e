"""`--model aes_baseline`: answers without looking, in each task's own format, to know what a score is worth."""

from __future__ import annotations

import collections
import random
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from accelerate import Accelerator
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from loguru import logger
from tqdm import tqdm

from lmms_aes_tasks import registry

STRATEGIES = ("random", "first", "last", "majority", "oracle")


def choose(
    strategy: str,
    choices: list[str],
    *,
    document: str,
    seed: int = 0,
    gold: str = "",
    ranking: list[str] | None = None,
    accuracy: float = 1.0,
) -> str:
    """One answer, decided by the seed and the document's id alone.

    Args:
        strategy: One of `STRATEGIES`.
        choices: The answers allowed, in the order shown; at least one.
        document: Id of the document within all tasks.
        seed: Seed of the draw.
        gold: The right answer, for `oracle`.
        ranking: Gold answers of the whole task, most frequent first, for `majority`.
        accuracy: Chance of the right answer, for `oracle`; otherwise one of the wrong ones, all equally likely.
    """
    draw = random.Random(f"{seed}\0{document}")
    if strategy == "first":
        return choices[0]
    if strategy == "last":
        return choices[-1]
    if strategy == "majority":
        return next((answer for answer in ranking or [] if answer in choices), choices[0])
    if strategy == "oracle":
        wrong = [choice for choice in choices if choice != gold]
        right = draw.random() < accuracy
        return gold if right or not wrong else draw.choice(wrong)
    return draw.choice(choices)


class AesBaseline(lmms):  # type: ignore[misc]
    """A baseline that runs on any machine, alone or in ranks.

    Args:
        strategy: `random`, `first`, `last` (in the order shown), `majority` (the task's most frequent gold label), or
            `oracle` (the gold label).
        accuracy: Chance in [0, 1] that `oracle` is right.
        seed: Whole number; with it and the document's id every answer is fixed, whatever the order or ranks.
        batch_size: Taken because the harness passes it; without effect.
        device: Likewise.

    Raises:
        ValueError: An argument is not allowed.
    """

    is_simple = False

    def __init__(
        self,
        strategy: str = "random",
        accuracy: float = 1.0,
        seed: int = 0,
        batch_size: int | str | None = 1,
        device: str | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__()
        unknown.pop("max_batch_size", None)
        if unknown:
            raise ValueError(f"aes_baseline: unknown argument {', '.join(unknown)}: use strategy, accuracy, seed")
        if strategy not in STRATEGIES:
            raise ValueError(f"aes_baseline: strategy is {strategy!r}: use one of {', '.join(STRATEGIES)}")
        if isinstance(accuracy, bool) or not isinstance(accuracy, (int, float)) or not 0 <= accuracy <= 1:
            raise ValueError(f"aes_baseline: accuracy is {accuracy!r}: use a number from 0 to 1")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ValueError(f"aes_baseline: seed is {seed!r}: use a whole number")
        self.strategy, self.accuracy, self.seed = strategy, float(accuracy), seed
        self.accelerator = Accelerator()
        self._device = self.accelerator.device
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        self._rankings: dict[tuple[str, str], list[str]] = {}
        if strategy in {"oracle", "majority"}:
            logger.warning(
                f"aes_baseline: strategy={strategy} reads the gold labels; its score says nothing of a model"
            )

    @property
    def device(self) -> Any:
        """Where the harness puts the tensors it exchanges between ranks."""
        return self._device

    def _benchmark(self, request: Instance) -> ModuleType:
        name = (request.metadata or {}).get("benchmark")
        if not isinstance(name, str):
            raise ValueError(
                f"aes_baseline: task {request.task_name!r} is none of lmms-aes-tasks (its metadata names no "
                "benchmark). Run it with another model."
            )
        return registry.hooks(name)

    def _ranking(self, module: ModuleType, task: str, split: str) -> list[str]:
        """Gold answers of a task, most frequent first, ties by answer."""
        if (task, split) not in self._rankings:
            documents = self.task_dict[task][split]
            keep = [name for name in documents.column_names if name != "images"]
            counts = collections.Counter(str(module.doc_to_target(doc)) for doc in documents.select_columns(keep))
            self._rankings[task, split] = sorted(counts, key=lambda answer: (-counts[answer], answer))
        return self._rankings[task, split]

    def _reply(self, request: Instance) -> str:
        _, _, _, doc_id, task, split = request.args
        module = self._benchmark(request)
        doc: Mapping[str, Any] = self.task_dict[task][split][doc_id]
        choice = choose(
            self.strategy,
            module.baseline_choices(doc),
            document=str(doc["id"]),
            seed=self.seed,
            gold=str(module.doc_to_target(doc)),
            ranking=self._ranking(module, task, split) if self.strategy == "majority" else None,
            accuracy=self.accuracy,
        )
        reply: str = module.baseline_reply(doc, choice)
        return reply

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """One reply a request."""
        return [self._reply(request) for request in tqdm(requests, desc="aes_baseline", disable=self.rank != 0)]

    def generate_until_multi_round(self, requests: list[Instance]) -> list[str]:
        """Not offered: no task of ours asks for it."""
        raise NotImplementedError("aes_baseline answers generate_until tasks only")

    def loglikelihood(self, requests: list[Instance]) -> list[tuple[float, bool]]:
        """Not offered: no task of ours asks for it."""
        raise NotImplementedError("aes_baseline answers generate_until tasks only")
