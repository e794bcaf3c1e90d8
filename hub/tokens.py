"""Sign agents' tokens and read them: JSON Web Tokens, HS256, with `sub`, `name`, `iat` and `exp`.

Exception
+-- SecretError    the secret can't be had or is too weak; the message says what to do
+-- TokenError     a token is not to be trusted; `reason` says why, to its bearer
"""

import os
import secrets
import tempfile
import time
from pathlib import Path

import jwt
import msgspec
import structlog

from hub.settings import Settings
from protocol.messages import AGENT_ID, NAME, AgentId

ALGORITHM = "HS256"
SECRET_MIN_BYTES = 32  # as long as the hash: RFC 7518, 3.2
SECRET_FILE = "secret"
NAME_LIMIT_CHARS = 32  # protocol.messages.NAME
HOUR_SECONDS = 3600

_log = structlog.get_logger()


class SecretError(Exception):
    """The secret can't be had or is too weak; the message says what to do."""


class TokenError(Exception):
    """A token is not to be trusted; `reason` says why, to its bearer."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Who a token speaks for, and until when, in ms since the epoch."""

    agent_id: AgentId
    name: str
    expires_at: int


def load_secret(settings: Settings) -> bytes:
    """Find the secret that tokens are signed with, making one on first use.

    It is the settings' own, or else the content of a file in the data directory that only its
    owner can read. Raises SecretError.
    """
    if settings.secret is not None:
        return _long_enough(settings.secret.encode(), "VEGAS_SECRET")
    path = settings.data_dir / SECRET_FILE
    try:
        if not path.exists():
            _make_secret(path)
        if path.stat().st_mode & 0o077 and os.name == "posix":
            _log.warning("secret_open_to_others", file=str(path), remedy="chmod 600 the file")
        return _long_enough(path.read_bytes().strip(), str(path))
    except OSError as error:
        raise SecretError(
            f"Can't use the secret in {path}: {error.strerror}."
            " Choose another directory with --data-dir, or set VEGAS_SECRET."
        ) from error


def issue(secret: bytes, agent_id: str, name: str, hours: float) -> str:
    """Sign a token that lets its bearer play as `agent_id` for so many hours."""
    now = time.time()
    claims = {
        "sub": agent_id,
        "name": name,
        "iat": int(now),
        "exp": int(now + hours * HOUR_SECONDS),
    }
    return jwt.encode(claims, secret, algorithm=ALGORITHM)


def read(token: str, secret: bytes) -> Identity:
    """Check a token and say who it speaks for; without a `name` the agent's id is its name.

    Raises TokenError if it is malformed, forged, expired, or lacks a claim.
    """
    claims = _verified_claims(token, secret)
    agent_id = claims["sub"]
    name = claims.get("name", default_name(agent_id))
    if not AGENT_ID.fullmatch(agent_id):
        raise TokenError("the token's agent id is not 1 to 64 of A-Z a-z 0-9 . _ -")
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        raise TokenError("the token's name is not 1 to 32 characters without control characters")
    return Identity(agent_id=AgentId(agent_id), name=name, expires_at=int(claims["exp"]) * 1000)


def default_name(agent_id: str) -> str:
    """Name an agent that has no name."""
    return agent_id[:NAME_LIMIT_CHARS]


def _verified_claims(token: str, secret: bytes) -> dict[str, str]:
    try:
        claims: dict[str, str] = jwt.decode(
            token,
            secret,
            algorithms=[ALGORITHM],
            options={
                "require": ["exp", "sub"],
                "verify_iat": False,
            },  # the issuer's clock may be ahead
        )
    except jwt.ExpiredSignatureError:
        raise TokenError("the token has expired") from None
    except jwt.InvalidSignatureError:
        raise TokenError("the token was not signed by this hub") from None
    except jwt.MissingRequiredClaimError as error:
        raise TokenError(f"the token has no {error.claim!r} claim") from None
    # RecursionError: the JSON of a token's header is read before its signature is checked.
    except (jwt.InvalidTokenError, ValueError, TypeError, RecursionError):
        raise TokenError("the token is malformed") from None
    return claims


def _make_secret(path: Path) -> None:
    """Write the file whole, then give it its name, which only one of several makers can do."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent)  # mkstemp's files have mode 0600
    with open(descriptor, "w") as file:
        file.write(secrets.token_hex(SECRET_MIN_BYTES) + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        os.unlink(draft)


def _long_enough(secret: bytes, origin: str) -> bytes:
    if len(secret) < SECRET_MIN_BYTES:
        raise SecretError(
            f"The secret in {origin} has {len(secret)} bytes, but needs {SECRET_MIN_BYTES} or more."
            ' Make one with: python3 -c "import secrets; print(secrets.token_hex(32))"'
        )
    return secret
