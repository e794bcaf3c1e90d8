import os
import subprocess
import sys
from pathlib import Path

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


# ---- grant ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("hp", ["some", "1.5", "-1000000001"])
def test_a_grant_is_a_number_of_hp(hp: str) -> None:
    code, said = complaint(run("grant", "ada", hp))
    assert (code, said.startswith("Error: Invalid value for 'HP'")) == (2, True)


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
