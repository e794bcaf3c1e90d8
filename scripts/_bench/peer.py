"""Other people's servers to compare with, each set up as its documentation says for speed.

They are installed in a scratch folder when they are asked for, and never otherwise. Each sends a
move as one message, which is easier than the hub's three events.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from .process import Program

SOURCES = Path(__file__).with_name("peers")
ENGINE_IO = "/socket.io/?EIO=4&transport=websocket"
NAMESPACE = "40"  # what a Socket.IO client says first: it connects to the main namespace


class CannotInstall(Exception):
    """A peer can't be had on this machine; `reason` is what the installer said last."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} could not be installed: {reason}")


class Peer(msgspec.Struct, frozen=True):
    """A server: its program, the packages that it needs, and how clients come to it."""

    program: str
    packages: tuple[str, ...]
    path: str = "/"
    hello: str = ""
    needs_store: bool = False

    @property
    def is_node(self) -> bool:
        """Tell whether it runs on Node."""
        return self.program.endswith(".js")


PEERS = {
    "starlette": Peer("starlette_peer.py", ("starlette", "uvicorn[standard]")),
    "python-socketio": Peer(
        "python_socketio_peer.py",
        ("python-socketio", "redis", "uvicorn[standard]"),
        ENGINE_IO,
        NAMESPACE,
        needs_store=True,
    ),
    "channels": Peer(
        "channels_peer.py",
        ("channels", "channels-redis", "django", "uvicorn[standard]"),
        needs_store=True,
    ),
    "picows": Peer("picows_peer.py", ("picows", "uvloop")),
    "socketify": Peer("socketify_peer.py", ("socketify",)),
    "node-ws": Peer("ws.js", ("ws",)),
    "socket.io": Peer(
        "socketio.js",
        ("socket.io", "@socket.io/redis-adapter", "redis"),
        ENGINE_IO,
        NAMESPACE,
        needs_store=True,
    ),
}


def start(name: str, store_url: str, core: int) -> Program:
    """Install a peer, unless it is there, and start it; its first line is its port.

    Raises CannotInstall.
    """
    peer = PEERS[name]
    folder = Path(tempfile.gettempdir()) / "claw-vegas-peers" / name
    if not (folder / "installed").exists():
        _install(name, folder)
    command = ["node"] if peer.is_node else [sys.executable]
    command.append(str(SOURCES / peer.program))
    if peer.needs_store:
        command.append(store_url)
    environment = {"NODE_PATH": str(folder / "node_modules"), "PYTHONPATH": str(folder)}
    return Program(command, core, environment=environment)


def _install(name: str, folder: Path) -> None:
    peer = PEERS[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if peer.is_node:
        command = ["npm", "install", "--silent", "--no-fund", "--no-audit", *peer.packages]
    else:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
        command += peer.packages
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CannotInstall(name, f"there is no {command[0]}") from error
    except subprocess.CalledProcessError as error:
        raise CannotInstall(name, error.stderr.strip().splitlines()[-1]) from error
    (folder / "installed").touch()
