import base64
import multiprocessing
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from hub.settings import Settings
from hub.tokens import Identity, SecretError, TokenError, default_name, issue, load_secret, read
from protocol.messages import AgentId

SECRET = b"s" * 32
LATER = 4_000_000_000  # seconds since the epoch, in 2096


def signed(secret: bytes = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    return jwt.encode({"sub": "ada", "exp": LATER, **claims}, secret, algorithm=algorithm)


def reason_against(token: str) -> str:
    with pytest.raises(TokenError) as caught:
        read(token, SECRET)
    return caught.value.reason


def test_a_token_says_whose_it_is() -> None:
    token = issue(SECRET, "ada", "Ada L.", hours=1)
    identity = read(token, SECRET)
    assert (identity.agent_id, identity.name) == ("ada", "Ada L.")


def test_a_token_is_good_for_its_hours() -> None:
    before = int(time.time())
    identity = read(issue(SECRET, "ada", "Ada", hours=2), SECRET)
    after = int(time.time())
    assert before <= identity.expires_at / 1000 - 2 * 3600 <= after


def test_a_token_made_elsewhere_needs_only_an_agent_and_an_end() -> None:
    agent_id = "a" * 64
    assert read(signed(sub=agent_id), SECRET) == Identity(
        agent_id=AgentId(agent_id), name="a" * 32, expires_at=LATER * 1000
    )


def test_a_token_from_a_machine_whose_clock_is_ahead_is_taken() -> None:
    assert read(signed(iat=LATER - 1), SECRET).agent_id == "ada"


def test_an_agent_s_default_name_is_its_id_cut_to_a_name_s_length() -> None:
    assert default_name("a" * 40) == "a" * 32


def test_an_expired_token_is_refused() -> None:
    assert reason_against(issue(SECRET, "ada", "Ada", hours=-1)) == "the token has expired"


def test_another_hub_s_token_is_refused() -> None:
    assert reason_against(signed(secret=b"t" * 32)) == "the token was not signed by this hub"


def test_an_unsigned_token_is_refused() -> None:
    token = jwt.encode({"sub": "ada", "exp": LATER}, "", algorithm="none")
    assert reason_against(token) == "the token is malformed"


def test_a_token_of_another_algorithm_is_refused() -> None:
    token = signed(secret=b"s" * 64, algorithm="HS512")
    assert reason_against(token) == "the token is malformed"


@pytest.mark.parametrize("claim", ["sub", "exp"])
def test_a_token_without_a_claim_is_refused(claim: str) -> None:
    claims = {"sub": "ada", "exp": LATER}
    del claims[claim]
    token = jwt.encode(claims, SECRET, algorithm="HS256")
    assert reason_against(token) == f"the token has no '{claim}' claim"


@pytest.mark.parametrize("agent_id", ["", "a b", "a" * 65, "é"])
def test_a_token_of_an_impossible_agent_is_refused(agent_id: str) -> None:
    reason = "the token's agent id is not 1 to 64 of A-Z a-z 0-9 . _ -"
    assert reason_against(signed(sub=agent_id)) == reason


@pytest.mark.parametrize("name", ["", "a\nb", "a" * 33, 7, None])
def test_a_token_with_an_impossible_name_is_refused(name: object) -> None:
    reason = "the token's name is not 1 to 32 characters without control characters"
    assert reason_against(signed(name=name)) == reason


@pytest.mark.parametrize("claims", [{"sub": 7}, {"exp": "soon"}, {"exp": [1]}, {"exp": None}])
def test_a_token_with_claims_of_the_wrong_type_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(TokenError):
        read(signed(**claims), SECRET)


@given(st.one_of(st.text(), st.text("abcXYZ019-_=.", max_size=200)))
def test_text_that_is_no_token_is_malformed(text: str) -> None:
    assert reason_against(text) == "the token is malformed"


@pytest.mark.parametrize(
    "header", [b"[" * 6000, b"7", b"{}", b'{"alg": []}', b'{"alg": "HS256", "crit": 7}', b"\xff"]
)
def test_a_token_with_a_strange_header_is_malformed(header: bytes) -> None:
    part = base64.urlsafe_b64encode(header).decode().rstrip("=")
    assert reason_against(f"{part}.e30.AAAA") == "the token is malformed"


def test_a_secret_from_the_settings_needs_no_file(tmp_path: Path) -> None:
    settings = Settings(secret="s" * 32, data_dir=tmp_path)
    assert (load_secret(settings), list(tmp_path.iterdir())) == (SECRET, [])


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new")
    first = load_secret(settings)
    assert (len(first), load_secret(settings)) == (64, first)


def test_a_made_secret_is_for_its_owner_only(tmp_path: Path) -> None:
    load_secret(Settings(data_dir=tmp_path / "new"))
    modes = [
        path.stat().st_mode & 0o777 for path in (tmp_path / "new", tmp_path / "new" / "secret")
    ]
    assert modes == [0o700, 0o600]


def test_processes_that_need_a_secret_at_once_agree(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert len(set(pool.map(load_secret, [settings] * 8, chunksize=1))) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(SecretError, match="VEGAS_SECRET has 5 bytes, but needs 32 or more"):
        load_secret(Settings(secret="short"))


def test_a_secret_that_can_t_be_kept_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SecretError, match="file/secret: File exists"):
        load_secret(Settings(data_dir=tmp_path / "file"))


def test_a_secret_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s" * 32)
    (tmp_path / "secret").chmod(0o644)
    with capture_logs() as logs:
        load_secret(Settings(data_dir=tmp_path))
    assert [entry["event"] for entry in logs] == ["secret_open_to_others"]
