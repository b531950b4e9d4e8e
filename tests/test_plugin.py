"""Registration: with this lmms-eval, and with one that no longer fits."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml
from loguru import logger

from lmms_aes_tasks import plugin
from lmms_aes_tasks.task_folders import TASKS_PATH

FALLBACK = '--include_path "$(lmms-aes tasks-path)"'


@pytest.fixture
def warnings_seen() -> Any:
    seen: list[str] = []
    handle = logger.add(lambda message: seen.append(message.record["message"]), level="WARNING")
    yield seen
    logger.remove(handle)


def fake_harness(monkeypatch: pytest.MonkeyPatch, manager: type) -> None:
    package = types.ModuleType("lmms_eval")
    tasks = types.ModuleType("lmms_eval.tasks")
    tasks.TaskManager = manager  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lmms_eval", package)
    monkeypatch.setitem(sys.modules, "lmms_eval.tasks", tasks)


def test_our_folder_comes_after_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    class TaskManager:
        def initialize_tasks(self, include_path: Any = None, include_defaults: bool = True) -> Any:
            return include_path, include_defaults

    fake_harness(monkeypatch, TaskManager)
    ours = str(TASKS_PATH)
    assert plugin.register_tasks()
    assert plugin.register_tasks()  # a second time changes nothing
    manager = TaskManager()
    assert manager.initialize_tasks() == ([ours], True)
    assert manager.initialize_tasks("mine") == (["mine", ours], True)
    assert manager.initialize_tasks(["mine", ours]) == (["mine", ours], True)
    assert manager.initialize_tasks(include_path=["mine"], include_defaults=False) == (["mine"], False)


class _NoMethod:
    pass


class _OtherSignature:
    def initialize_tasks(self, folders: Any) -> Any:
        return folders


@pytest.mark.parametrize("manager", [_NoMethod, _OtherSignature])
def test_a_future_harness_is_left_alone_with_a_warning(
    manager: type, monkeypatch: pytest.MonkeyPatch, warnings_seen: list[str]
) -> None:
    fake_harness(monkeypatch, manager)
    before = dict(vars(manager))
    assert not plugin.register_tasks()
    assert dict(vars(manager)) == before
    assert warnings_seen == [
        "lmms-aes-tasks: this lmms-eval builds its task index in another way than 0.7; its tasks are not registered by "
        f"name. lmms-eval itself works: add {FALLBACK} to use them."
    ]


def test_a_harness_without_the_modules_is_left_alone(monkeypatch: pytest.MonkeyPatch, warnings_seen: list[str]) -> None:
    monkeypatch.setitem(sys.modules, "lmms_eval", types.ModuleType("lmms_eval"))
    for name in ("lmms_eval.tasks", "lmms_eval.models.registry_v2"):
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    assert plugin.register() == []
    assert len(warnings_seen) == 2
    assert all(FALLBACK in message for message in warnings_seen)


def in_python(code: str, **environment: str) -> str:
    """What a Python of its own prints last."""
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | environment
    )
    assert finished.returncode == 0, finished.stderr[-3000:]
    return finished.stdout.strip().splitlines()[-1]


@pytest.mark.harness
@pytest.mark.parametrize(
    "code",
    [
        "import lmms_aes_tasks; from lmms_eval.tasks import TaskManager; print('vab_tb1' in TaskManager().all_tasks)",
        "from lmms_eval.tasks import TaskManager; import lmms_aes_tasks; print('vab_tb1' in TaskManager().all_tasks)",
        "import lmms_aes_tasks, lmms_eval.evaluator as e; print('vab_tb1' in e.TaskManager().all_tasks)",
        "import lmms_aes_tasks; from lmms_eval.tasks import get_task_dict; "
        "print(list(get_task_dict(['contextcanvas_demo'])) == ['contextcanvas_demo'])",
    ],
)
def test_python_knows_our_tasks_once_the_package_is_imported(code: str) -> None:
    assert in_python(code) == "True"


def test_importing_the_package_imports_nothing_of_the_harness() -> None:
    code = "import sys, lmms_aes_tasks; print(sorted(m for m in sys.modules if m.split('.')[0] in "
    assert in_python(code + "{'lmms_eval', 'torch', 'numpy', 'yaml', 'loguru'}))") == "[]"


def test_the_hook_waits_for_the_module_and_is_gone_then(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "lmms_eval"
    (package / "tasks").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "tasks/__init__.py").write_text(
        "class TaskManager:\n    def initialize_tasks(self, include_path=None, include_defaults=True):\n"
        "        return include_path\n"
    )
    code = (
        "import sys; before = len(sys.meta_path); import lmms_aes_tasks, lmms_aes_tasks.plugin as p; "
        "p.register_on_import(); waiting = len(sys.meta_path); from lmms_eval.tasks import TaskManager; "
        "known = TaskManager().initialize_tasks() == [str(f) for f in p.task_folders()]; "
        "print((waiting - before, len(sys.meta_path) - before, known))"
    )
    path = os.pathsep.join((str(tmp_path), *sys.path))
    assert in_python(code, PYTHONPATH=path) == "(1, 0, True)"


@pytest.mark.harness
def test_the_older_way_of_plugins_does_no_harm() -> None:
    code = "from lmms_eval.models import list_available_models as m; print('aes_baseline' in m() and 'openai' in m())"
    assert in_python(code, LMMS_EVAL_PLUGINS="lmms_aes_tasks") == "True"
    spec = importlib.util.find_spec("lmms_aes_tasks.tasks")  # as the harness's command looks for tasks
    assert spec is not None
    assert spec.submodule_search_locations
    assert not list(Path(spec.submodule_search_locations[0]).rglob("*.yaml"))


def yaml_files() -> list[Path]:
    found = sorted(TASKS_PATH.rglob("*.yaml"))
    assert found
    return found


def names_in(path: Path) -> set[str]:
    config = yaml.safe_load(re.sub(r"!function \S+", "null", path.read_text("utf-8")))
    names = [config.get(key) for key in ("task", "group", "tag")]
    return {name for name in names if isinstance(name, str)}


@pytest.mark.harness
def test_no_name_of_ours_is_a_built_in_one() -> None:
    import lmms_eval.tasks

    folder = str(Path(lmms_eval.tasks.__file__).parent) + "/"
    built_in = lmms_eval.tasks.TaskManager(include_path=folder, include_defaults=False).task_index
    assert len(built_in) > 500
    ours = set().union(*map(names_in, yaml_files()))
    assert {"contextcanvas", "contextcanvas_demo", "vab", "vab_tb1_demo", "lmms_aes", "lmms_aes_demo"} <= ours
    assert ours & set(built_in) == set()


@pytest.mark.harness
def test_the_real_index_has_our_tasks() -> None:
    import lmms_eval.models  # noqa: F401  loads the entry point
    from lmms_eval.tasks import TaskManager

    index = TaskManager().task_index
    for path in yaml_files():
        assert names_in(path) <= set(index)


def test_every_task_says_that_it_has_no_examples() -> None:
    from lmms_aes_tasks.leaderboard.tasks import _merged, known_tasks

    # without it lmms-eval's --num_fewshot ends in an AttributeError
    merged = {path.stem: _merged(path) for path in TASKS_PATH.glob("*/*.yaml") if path.stem in known_tasks()}
    assert len(merged) == len(known_tasks()) > 30
    assert {name for name, own in merged.items() if own.get("num_fewshot") != 0} == set()


def test_every_yaml_names_its_output_type_and_version() -> None:
    """`--tasks list_subtasks` fails on a task that has its output type from an include only."""
    for path in yaml_files():
        config = yaml.safe_load(re.sub(r"!function \S+", "null", path.read_text("utf-8")))
        assert "group" in config or "output_type" in config, path
        assert "include" in config or isinstance(config["metadata"]["version"], str), path
