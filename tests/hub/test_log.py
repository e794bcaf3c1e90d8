import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from websockets.exceptions import ConnectionClosedError, InvalidMessage

from hub import log


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_an_event_is_a_line_of_json_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("json")
    log.get_logger(match_id="m1").info("placed", face=6)
    [line] = lines(capsys)
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "placed", "level": "info", "match_id": "m1", "face": 6}


def test_people_get_words(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("console")
    log.get_logger().info("placed", face=6)
    assert "placed" in capsys.readouterr().err


def test_auto_is_json_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("auto")
    log.get_logger().info("placed")
    assert [line["event"] for line in lines(capsys)] == ["placed"]


def test_what_weighs_too_little_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("json", "warning")
    log.get_logger().info("light")
    log.get_logger().warning("heavy")
    assert [line["event"] for line in lines(capsys)] == ["heavy"]


def test_a_library_is_heard_from_warning_up(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure("json", "debug")
    logging.getLogger("redis").info("light")
    logging.getLogger("redis").warning("heavy")
    [line] = lines(capsys)
    assert (line["event"], line["level"], line["logger"]) == ("heavy", "warning", "redis")


@pytest.mark.parametrize("format", ["console", "json"])
def test_an_error_comes_with_its_traceback(
    capsys: pytest.CaptureFixture[str], format: log.LogFormat
) -> None:
    log.configure(format)
    try:
        int("ours")
    except ValueError:
        logging.getLogger("websockets.server").error("connection handler failed", exc_info=True)
    assert "ValueError: invalid literal" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["console", "json"])
def test_a_traceback_does_not_show_variables(
    capsys: pytest.CaptureFixture[str], format: log.LogFormat
) -> None:
    log.configure(format)
    secret = "".join(["hush", "hush"])
    try:
        secret.index("other")
    except ValueError:
        log.get_logger().exception("failed")
    assert "hushhush" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "fault",
    [
        InvalidMessage("did not receive a valid HTTP request"),
        ConnectionClosedError(None, None),
        ConnectionResetError(),
        EOFError(),
    ],
)
def test_a_client_s_fault_is_no_news(capsys: pytest.CaptureFixture[str], fault: Exception) -> None:
    log.configure("json")
    logging.getLogger("websockets.server").error("opening handshake failed", exc_info=fault)
    assert lines(capsys) == []
