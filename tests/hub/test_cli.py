import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result

from hub.cli import main
from hub.settings import Settings
from hub.tokens import load_secret, read
from protocol.codec import encode
from tests.rules.matches import SHORT, play

MATCH = play(config=SHORT).log


def run(*arguments: str | Path, **environment: str) -> Result:
    """Run the command line with no more of an environment than is given."""
    erased = {name: None for name in os.environ if name.startswith("VEGAS_")}
    words = [str(argument) for argument in arguments]
    return CliRunner(env={**erased, **environment}).invoke(main, words)


def grant(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `grant` in a process of its own, as it sets up the process's logs."""
    command = [sys.executable, "-m", "hub", "grant", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Serving(NamedTuple):
    """A hub process, and what it said first on stdout, if anything."""

    process: subprocess.Popen[str]
    announced: str


@contextmanager
def serving(*options: str) -> Iterator[Serving]:
    """Run a hub in a process of its own, until it has said where it is or has ended."""
    command = [sys.executable, "-m", "hub", "serve", "--log-format", "json", *options]
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        try:
            yield Serving(process, process.stdout.readline().rstrip("\n"))
        finally:
            process.kill()


def complaint(result: Result) -> tuple[int, str]:
    """Give the exit code and the last line of what was said on stderr."""
    return result.exit_code, result.stderr.splitlines()[-1]


def test_it_is_a_module_too() -> None:
    command = [sys.executable, "-m", "hub", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: python -m hub [OPTIONS] COMMAND")


# ---- token ---------------------------------------------------------------------------------------


def test_a_token_is_one_line_that_the_hub_takes(tmp_path: Path) -> None:
    result = run("token", "ada", "--name", "Ada L.", "--data-dir", tmp_path)
    identity = read(result.stdout.rstrip("\n"), load_secret(Settings(data_dir=tmp_path)))
    assert (identity.agent_id, identity.name) == ("ada", "Ada L.")


def test_the_environment_says_where_the_secret_is(tmp_path: Path) -> None:
    result = run("token", "ada", VEGAS_DATA_DIR=str(tmp_path))
    assert read(result.stdout.strip(), load_secret(Settings(data_dir=tmp_path))).name == "ada"


def test_the_environment_can_hold_the_secret(tmp_path: Path) -> None:
    result = run("token", "ada", "--data-dir", tmp_path, VEGAS_SECRET="s" * 32)
    assert read(result.stdout.strip(), b"s" * 32).agent_id == "ada"


def test_a_short_secret_is_explained(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("short")
    (tmp_path / "secret").chmod(0o600)
    assert complaint(run("token", "ada", "--data-dir", tmp_path)) == (
        1,
        f"Error: The secret in {tmp_path}/secret has 5 bytes, but needs 32 or more. Make one with:"
        ' python3 -c "import secrets; print(secrets.token_hex(32))"',
    )


@pytest.mark.parametrize("agent_id", ["", "a b", "a" * 65, "ada\n"])
def test_a_token_is_for_a_possible_agent(agent_id: str) -> None:
    assert complaint(run("token", agent_id)) == (
        2,
        f"Error: Invalid value for 'AGENT_ID': {agent_id!r} is not 1 to 64 of A-Z a-z 0-9 . _ -.",
    )


@pytest.mark.parametrize("name", ["", "a\tb", "a" * 33])
def test_a_token_has_a_possible_name(name: str) -> None:
    code, said = complaint(run("token", "ada", "--name", name))
    assert (code, said.split(": ")[-1]) == (
        2,
        f"{name!r} is not 1 to 32 characters without control characters.",
    )


# ---- serve ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--port", "65536"),
        ("--port", "-1"),
        ("--port", "http"),
        ("--metrics-port", "70000"),
        ("--turn-seconds", "0"),
        ("--turn-seconds", "86401"),
        ("--turn-seconds", "nan"),
        ("--turn-seconds", "soon"),
        ("--away-seconds", "-5"),
        ("--away-seconds", "inf"),
        ("--house-bots", "-1"),
        ("--starting-hp", "-1"),
        ("--entry-fee", "1.5"),
        ("--platform-fee-bps", "10001"),
        ("--prefix", "a{b}"),
        ("--prefix", ""),
        ("--redis", "localhost:6379"),
        ("--redis", "redis://"),
        ("--redis", "redis://localhost:99999"),
        ("--redis", "unix://"),
        ("--log-format", "xml"),
        ("--log-level", "all"),
        ("--data-dir", __file__),
    ],
)
def test_what_a_hub_can_t_be_set_to_is_a_usage_error(option: str, value: str) -> None:
    code, said = complaint(run("serve", option, value))
    assert (code, said.startswith(f"Error: Invalid value for '{option}'")) == (2, True)


def test_what_the_environment_sets_is_checked_as_well() -> None:
    code, said = complaint(run("serve", VEGAS_PORT="http"))
    assert (code, "'--port' (env var: 'VEGAS_PORT')" in said) == (2, True)


def test_a_hub_says_where_it_is_and_ends_when_told(redis_url: str, prefix: str) -> None:
    with serving("--port", "0", "--redis", redis_url, "--prefix", prefix) as hub:
        address = hub.announced.removeprefix("Claw Vegas is open at http://")
        assert urlopen(f"http://{address}/readyz").status == 200
        hub.process.terminate()
        assert hub.process.wait() == 0


def test_a_hub_needs_a_port_of_its_own(redis_url: str, prefix: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with serving("--port", port, "--redis", redis_url, "--prefix", prefix) as hub:
            _, said = hub.process.communicate()
    assert hub.process.returncode == 1
    assert said.splitlines()[-1] == (
        f"Error: Error while attempting to bind on address ('127.0.0.1', {port}):"
        " address already in use. Choose another with --port or --metrics-port."
    )


def test_a_store_url_that_can_t_be_used_is_explained() -> None:
    with serving("--redis", "redis://127.0.0.1:1/0?socket_timeout=x") as hub:
        _, said = hub.process.communicate()
    assert hub.process.returncode == 1
    assert said.splitlines()[-1].startswith("Error: The store's URL can't be used: Invalid value")


def test_a_hub_without_its_store_says_so() -> None:
    with serving("--redis", "unix:///nowhere/at-all.sock") as hub:
        _, said = hub.process.communicate()
    assert hub.process.returncode == 1
    assert said.splitlines()[-1] == (
        "Error: The shared store does not answer: Error 2 connecting to /nowhere/at-all.sock."
        " No such file or directory. Is it running? Is --redis right?"
    )


# ---- grant ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("hp", ["some", "1.5", "-1000000001"])
def test_a_grant_is_a_number_of_hp(hp: str) -> None:
    code, said = complaint(run("grant", "ada", hp))
    assert (code, said.startswith("Error: Invalid value for 'HP'")) == (2, True)


def test_a_grant_is_added_to_an_agent_s_hp(redis_url: str, prefix: str) -> None:
    store = ("--redis", redis_url, "--prefix", prefix)
    grant("ada", "500", *store)
    assert grant("ada", "-5", *store).stdout == "ada has 1495 HP now, after 1500.\n"


def test_a_grant_takes_no_more_than_there_is(redis_url: str, prefix: str) -> None:
    result = grant("ada", "-2000", "--redis", redis_url, "--prefix", prefix)
    assert result.stdout == "ada has 0 HP now, after 1000.\n"


def test_a_grant_is_logged_with_its_reason(redis_url: str, prefix: str) -> None:
    store = ("--redis", redis_url, "--prefix", prefix)
    said = grant("ada", "5", "--reason", "a gift", *store, "--log-format", "json").stderr
    entry = json.loads(said.splitlines()[-1])
    del entry["timestamp"]
    assert entry == {
        "level": "info",
        "event": "hp_granted",
        "agent_id": "ada",
        "asked": 5,
        "old": 1000,
        "new": 1005,
        "reason": "a gift",
    }


def test_a_grant_needs_no_running_hub(tmp_path: Path) -> None:
    grant("ada", "5", "--data-dir", tmp_path)
    result = grant("ada", "5", "--data-dir", tmp_path)
    assert result.stdout == "ada has 1010 HP now, after 1005.\n"


# ---- verify --------------------------------------------------------------------------------------


def test_verify_says_what_it_has_checked(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"".join(encode(event, "msgpack") for event in MATCH))
    result = run("verify", tmp_path / "log")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (
        0,
        f"{len(MATCH)} events of match m0: no number missing, times in order",
    )


def test_verify_says_what_is_wrong_with_a_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"".join(encode(event, "msgpack") for event in MATCH[1:]))
    assert complaint(run("verify", tmp_path / "log")) == (
        1,
        "Error: The log does not hold: event 2: event 1 was expected here.",
    )


def test_verify_says_what_it_can_t_read(tmp_path: Path) -> None:
    source = tmp_path / "log"
    assert complaint(run("verify", source)) == (
        1,
        f"Error: Can't read {source}: No such file or directory.",
    )
