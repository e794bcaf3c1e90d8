import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
import redis.asyncio

from hub.store.embedded import EmbeddedValkey, EmbeddedValkeyError

USER_PROGRAM = """
import sys
from pathlib import Path
from hub.store.embedded import EmbeddedValkey
with EmbeddedValkey(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def other_process(data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """Use the server on `data_dir` in another process, until that one's stdin is closed."""
    command = [sys.executable, "-c", USER_PROGRAM, str(data_dir)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def client(url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(url, decode_responses=True) as connection:
        yield connection


def server_pid(url: str) -> int:
    with client(url) as connection:
        return int(connection.info("server")["process_id"])


def is_stopped(url: str) -> bool:
    with client(url) as connection:
        try:
            connection.ping()
        except redis.ConnectionError:
            return True
    return False


def wait_until_free(lock: Path) -> None:
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def kill_children_of(parent: int, *, but: int) -> None:
    for status in Path("/proc").glob("[0-9]*/stat"):
        pid, ppid = int(status.parent.name), int(status.read_text().rpartition(")")[2].split()[1])
        if ppid == parent and pid != but:
            os.kill(pid, signal.SIGKILL)


def test_a_new_run_has_the_last_one_s_data(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as url, client(url) as connection:
        connection.set("kept", "yes")
    with EmbeddedValkey(tmp_path) as url, client(url) as connection:
        assert connection.get("kept") == "yes"


async def test_starts_and_stops_in_a_loop(tmp_path: Path) -> None:
    valkey = EmbeddedValkey(tmp_path)
    url = await valkey.start()
    async with redis.asyncio.from_url(url) as connection:
        assert await connection.ping()
    await valkey.stop()
    assert is_stopped(url)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("appendonly", "yes"),
        ("appendfsync", "always"),
        ("save", ""),
        ("port", "0"),
        ("maxmemory-policy", "noeviction"),
    ],
)
def test_is_set_up_to_lose_nothing_and_to_listen_nowhere(
    tmp_path: Path, name: str, value: str
) -> None:
    with EmbeddedValkey(tmp_path) as url, client(url) as connection:
        assert connection.config_get(name) == {name: value}


def test_need_not_wait_for_the_disk(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path, fsync=False) as url, client(url) as connection:
        assert connection.config_get("appendfsync") == {"appendfsync": "no"}


def test_a_terminal_s_ctrl_c_does_not_reach_the_server(tmp_path: Path) -> None:
    """Ctrl-C goes to the foreground process group, which lies within one session."""
    with EmbeddedValkey(tmp_path) as url:
        assert os.getsid(server_pid(url)) != os.getsid(0)


def test_others_can_t_read_the_data(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path / "new"):
        kept = [tmp_path / "new", *(tmp_path / "new" / "appendonlydir").iterdir()]
        assert {path.stat().st_mode & 0o077 for path in kept} == {0}


def test_a_second_user_gets_the_same_server(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as url, EmbeddedValkey(tmp_path) as second_url:
        assert server_pid(url) == server_pid(second_url)


def test_a_user_that_leaves_early_leaves_the_server_running(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as url:
        with EmbeddedValkey(tmp_path):
            pass
        assert not is_stopped(url)


def test_the_last_user_stops_a_server_that_another_process_started(tmp_path: Path) -> None:
    with other_process(tmp_path) as starter:
        assert starter.stdout is not None
        starter.stdout.readline()
        with EmbeddedValkey(tmp_path) as url:
            starter.communicate()
            assert not is_stopped(url)
        assert is_stopped(url)


def test_a_killed_user_s_server_stops(tmp_path: Path) -> None:
    with other_process(tmp_path) as killed:
        assert killed.stdout is not None
        url = killed.stdout.readline().strip()
        killed.kill()
    wait_until_free(tmp_path / "server.lock")
    assert is_stopped(url)


def test_a_killed_user_s_server_runs_on_for_others(tmp_path: Path) -> None:
    with other_process(tmp_path) as killed:
        assert killed.stdout is not None
        killed.stdout.readline()
        with EmbeddedValkey(tmp_path) as url:
            killed.kill()
            killed.wait()
            assert not is_stopped(url)
        assert is_stopped(url)


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the watchdog in /proc")
def test_a_server_that_was_left_alone_is_taken_over_and_stopped(tmp_path: Path) -> None:
    """As after a crash that killed the hub and the watchdog, but not the server."""
    with other_process(tmp_path) as killed:
        assert killed.stdout is not None
        pid = server_pid(killed.stdout.readline().strip())
        kill_children_of(killed.pid, but=pid)
        killed.kill()
    with EmbeddedValkey(tmp_path) as url:
        assert server_pid(url) == pid
    assert is_stopped(url)


def test_processes_that_start_at_once_share_one_server(tmp_path: Path) -> None:
    with other_process(tmp_path) as one, other_process(tmp_path) as two:
        assert one.stdout is not None
        assert two.stdout is not None
        urls = [one.stdout.readline().strip(), two.stdout.readline().strip()]
        assert server_pid(urls[0]) == server_pid(urls[1])
        one.communicate()
        two.communicate()


@pytest.mark.parametrize("name", ["a b", "it's", '"q"', "é", "100%"])
def test_any_directory_name_will_do(tmp_path: Path, name: str) -> None:
    with EmbeddedValkey(tmp_path / name) as url, client(url) as connection:
        assert connection.ping()


def test_a_path_too_long_for_a_socket_will_do(tmp_path: Path) -> None:
    data_dir = tmp_path / ("d" * 120)
    with EmbeddedValkey(data_dir) as url, client(url) as connection:
        connection.set("kept", "yes")
        assert str(data_dir) not in url
    with EmbeddedValkey(data_dir) as url, client(url) as connection:
        assert connection.get("kept") == "yes"


def test_a_directory_that_can_t_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EmbeddedValkeyError) as caught, EmbeddedValkey(tmp_path / "file" / "data"):
        pass
    assert str(caught.value) == (
        f"Can't use {tmp_path}/file/data: Not a directory."
        " Choose another directory with --data-dir."
    )


def test_damaged_data_are_refused_with_the_way_to_mend_them(tmp_path: Path) -> None:
    with EmbeddedValkey(tmp_path) as url, client(url) as connection:
        connection.set("first", "1")
        connection.set("second", "2")
    log = tmp_path / "appendonlydir" / "appendonly.aof.1.incr.aof"
    log.write_bytes(log.read_bytes().replace(b"$6\r\nsecond", b"$9\r\nsecond"))

    with pytest.raises(EmbeddedValkeyError) as caught, EmbeddedValkey(tmp_path):
        pass
    command = str(caught.value).splitlines()[-1]
    subprocess.run(command, shell=True, input=b"y\n", check=True, capture_output=True)
    with EmbeddedValkey(tmp_path) as url, client(url) as connection:
        assert connection.get("first") == "1"


def test_a_server_that_does_not_answer_in_time_is_reported(tmp_path: Path) -> None:
    """Another program holding the server's lock looks like a server that never gets ready."""
    with EmbeddedValkey(tmp_path):
        pass
    holder = """
import fcntl, sys
lock = open(sys.argv[1])
fcntl.flock(lock, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", holder, str(tmp_path / "server.lock")]
    with subprocess.Popen(command, stdin=-1, stdout=-1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with (
            pytest.raises(EmbeddedValkeyError, match="does not do as asked"),
            EmbeddedValkey(tmp_path, start_limit=0.1),
        ):
            pass
        process.kill()
