"""Stop the bundled Valkey when its last user is gone, even one that was killed.

A program of its own beside the server, see embedded.py: `python watchdog.py USERS_LOCK SOCKET`.
"""

import fcntl
import socket
import sys

STOP_LIMIT_SECONDS = 5.0


def main(users_lock: str, server_socket: str) -> None:
    """Wait until nobody uses the server, then stop it; nobody can start to use it meanwhile."""
    with open(users_lock, "ab") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        try:
            _shut_down(server_socket)
        except OSError:
            return  # its last user has stopped it, as a rule


def _shut_down(server_socket: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.settimeout(STOP_LIMIT_SECONDS)
        server.connect(server_socket)
        server.sendall(b"SHUTDOWN NOSAVE\r\n")
        while server.recv(4096):  # until it has gone
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
