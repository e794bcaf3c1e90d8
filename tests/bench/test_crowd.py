"""The bench's cheap clients: they count what a server sends, in C and in Python alike."""

import shutil
from collections.abc import Iterator

import pytest

from scripts._bench import crowd as crowds
from scripts._bench.crowd import Crowd
from scripts._bench.floor import Floor
from scripts._bench.process import Program, cores

NEEDS_GCC = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")


@pytest.fixture(params=[pytest.param("c", marks=NEEDS_GCC), "python"])
def crowd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Crowd]:
    if request.param == "python":
        monkeypatch.setattr(crowds, "build", lambda _name: None)
    with Crowd(cores()[1]) as crowd:
        yield crowd


@pytest.fixture
def bare() -> Iterator[tuple[Program, int]]:
    with Program.python("bare", core=cores()[0]) as bare:
        yield bare, int(bare.read())


def test_waits_for_the_bytes_it_expects(crowd: Crowd, bare: tuple[Program, int]) -> None:
    server, port = bare
    crowd.open(port, 10, "/")
    crowd.expect(0, 2 * 460)
    server.ask("write 2 460")
    crowd.wait(20.0)
    assert crowd.settle(20) == 10 * 2 * 460


def test_says_when_bytes_are_missing(crowd: Crowd, bare: tuple[Program, int]) -> None:
    server, port = bare
    crowd.open(port, 3, "/")
    crowd.expect(0, 461)
    server.ask("write 1 460")
    with pytest.raises(TimeoutError, match="3 sockets"):
        crowd.wait(0.1)


def test_takes_the_time_of_what_was_asked_for(crowd: Crowd, bare: tuple[Program, int]) -> None:
    server, port = bare
    crowd.open(port, 5, "/")
    crowd.expect(0, 460, 1)
    server.ask("write 1 460")
    crowd.wait(20.0)
    assert len(crowd.latencies()) == 5
    assert crowd.latencies() == []


def test_counts_echoes(crowd: Crowd, bare: tuple[Program, int]) -> None:
    crowd.open(bare[1], 4, "/")
    assert crowd.echo(0.1, 150) > 4


def test_refused_handshakes_are_an_error(crowd: Crowd) -> None:
    with Floor(cores()[0]) as floor:
        floor.program.tell("accept 1")
        crowd.add(1, "")
        crowd.start_opening(floor.port)
        crowd.opened()
        floor.program.read()
    crowd.add(2, "")
    crowd.start_opening(floor.port)
    with pytest.raises(ConnectionError, match="2 of 2"):
        crowd.opened()
