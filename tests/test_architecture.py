"""The layout as CONTRIBUTING.md draws it: who may know whom, and that nothing general knows a benchmark by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "lmms_aes_tasks"
NAME = PACKAGE.name
BENCHMARKS = ("contextcanvas", "critiquecanvas", "vab", "fineartbench")
OF_ONE_BENCHMARK = {*BENCHMARKS, "judge", "ratings", "votes", "traces"}
"""Files of `cli/` that serve one benchmark."""
MAX_LINES = 400
MAX_FUNCTION_LINES = 60

MODULES = {
    ".".join((NAME, *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

# A room may import what stands below it; rooms of one level do not import each other, but for those named.
LEVELS: dict[str, int] = {
    "utils": 0,
    "task_folders": 0,
    "tasks": 0,
    "outputs": 1,
    "records": 2,
    "settings": 2,
    "cards": 3,
    "harness_cache": 3,
    "harness_results": 3,
    "harness_replies": 4,
    "predictions": 3,
    "plugin": 5,
    "sources": 4,
    "board": 5,
    **dict.fromkeys(BENCHMARKS, 6),
    "demo": 5,
    "registry": 7,
    "models": 8,
    "leaderboard": 8,
    "cli": 9,
}
CORE = NAME
"""The package itself (`__init__`), for its version and the hook that it sets."""


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def _imports(tree: ast.Module, module: str) -> Iterator[str]:
    """Modules of ours that a module imports anywhere, but for types alone."""
    types_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in types_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == NAME:
            for name in node.names:
                full = f"{node.module}.{name.name}"
                yield full if full in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in MODULES)


GRAPH = {
    module: {target for target in _imports(ast.parse(path.read_text("utf-8")), module) if target != module}
    for module, path in MODULES.items()
}


def test_every_room_is_known() -> None:
    assert {room(module) for module in MODULES} - {""} == set(LEVELS)


def test_arrows_point_down() -> None:
    wrong = [
        f"{module} -> {target}"
        for module, targets in GRAPH.items()
        for target in targets
        if target != CORE
        and room(module) != room(target)
        and module != CORE
        and LEVELS[room(target)] >= LEVELS[room(module)]
    ]
    assert wrong == []


def test_benchmarks_do_not_know_one_another() -> None:
    wrong = [
        f"{module} -> {target}"
        for module, targets in GRAPH.items()
        for target in targets
        if room(module) in BENCHMARKS and room(target) in BENCHMARKS and room(module) != room(target)
    ]
    assert wrong == []


def test_there_is_no_circle() -> None:
    """An `__init__` that hands names on is no part of a circle: its modules do not import it."""
    order: dict[str, int] = {}

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if module in order:
            return
        for target in sorted(GRAPH.get(module, ())):
            if target != CORE:
                visit(target, (*path, module))
        order[module] = len(order)

    for module in MODULES:
        visit(module, ())


def _general_files() -> list[Path]:
    folders = ("leaderboard", "models", "board", "records")
    files = [path for folder in folders for path in (PACKAGE / folder).rglob("*") if path.suffix in {".py", ".j2"}]
    alone = ("cards", "sources", "registry", "predictions", "settings", "task_folders", "plugin", "outputs")
    files += [PACKAGE / f"{name}.py" for name in (*alone, "harness_cache", "harness_replies", "harness_results")]
    return files + [path for path in (PACKAGE / "cli").glob("*.py") if path.stem not in OF_ONE_BENCHMARK]


def test_nothing_general_names_a_benchmark() -> None:
    """Neither in code nor in a text nor in a comment."""
    named = re.compile(rf"(?<![a-z])({'|'.join(BENCHMARKS)})(?![a-z])", re.IGNORECASE)
    assert [
        f"{path.relative_to(PACKAGE)}:{number}: {line}"
        for path in _general_files()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if named.search(line)
    ] == []


def test_files_and_functions_are_short() -> None:
    long = []
    for module, path in MODULES.items():
        text = path.read_text("utf-8")
        if len(text.splitlines()) > MAX_LINES:
            long.append(f"{module}: {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            is_command = path.parent.name == "cli"  # typer wants every option in the signature
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None and not is_command:
                lines = node.end_lineno - node.lineno + 1
                if lines > MAX_FUNCTION_LINES:
                    long.append(f"{module}.{node.name}: {lines} lines")
    assert long == []


def test_every_benchmark_has_its_parts() -> None:
    for name in BENCHMARKS:
        folder = PACKAGE / name
        missing = [part for part in ("__init__", "task", "board", "published") if not (folder / f"{part}.py").is_file()]
        assert missing == [], name
        assert (PACKAGE / f"task_yamls/{name}/card.json").is_file()
        assert (PACKAGE / f"cli/{name}.py").is_file()
        assert (PACKAGE.parent / f"docs/{name}.md").is_file()


def test_every_object_keeps_to_the_interface() -> None:
    """mypy sees no further than the registry's one dynamic import."""
    from lmms_aes_tasks import registry
    from lmms_aes_tasks.board.benchmark import Benchmark
    from lmms_aes_tasks.leaderboard.tasks import known_tasks

    assert registry.names() == tuple(sorted(BENCHMARKS))
    assert [benchmark.name for benchmark in registry.benchmarks()] == list(BENCHMARKS)
    tasks = known_tasks()
    for benchmark in registry.benchmarks():
        assert isinstance(benchmark, Benchmark)
        assert registry.hooks(benchmark.name).__name__ == f"{NAME}.{benchmark.name}"
        for family in benchmark.families:
            assert tasks[family.task].benchmark == benchmark.name
            assert benchmark.metrics[family.headline].higher_is_better
        for row in benchmark.published():
            for name, metric in row.metrics.items():
                facts = benchmark.metrics[name]
                assert (metric.unit, metric.higher_is_better) == (facts.unit, facts.higher_is_better), (row.key, name)
