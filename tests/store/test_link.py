import asyncio
import gc
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from hub.store.keys import Keys
from hub.store.link import Link, StoreUnavailable
from hub.store.lobby import Lobby
from tests.store.valkey import OwnValkey

ANSWER_SECONDS = 0.2


@pytest.fixture
async def own_link(valkey: OwnValkey) -> AsyncIterator[Link]:
    """A link to a server of the test's own, which does not wait for it for long."""
    link = Link(valkey.url + "&client_name=own", answer_seconds=ANSWER_SECONDS)
    yield link
    await link.close()


async def outcomes(*calls: asyncio.Future[Any]) -> list[Any]:
    return await asyncio.gather(*calls, return_exceptions=True)


async def connections(link: Link, name: str) -> int:
    clients: bytes = await link.call("CLIENT", "LIST")
    return clients.count(f" name={name} ".encode())


async def test_calls_of_one_turn_of_the_loop_share_one_pipeline(link: Link) -> None:
    replies = await asyncio.gather(*(link.call("ECHO", number) for number in range(100)))
    assert replies == [str(number).encode() for number in range(100)]
    assert link.round_trips == 1


async def test_calls_of_one_turn_are_run_in_order(link: Link, prefix: str) -> None:
    replies = await asyncio.gather(*(link.call("INCR", prefix + "n") for _ in range(100)))
    assert replies == list(range(1, 101))


async def test_calls_do_not_wait_for_the_replies_to_earlier_ones(
    own_link: Link, valkey: OwnValkey
) -> None:
    await own_link.call("PING")
    valkey.pause()
    before = own_link.round_trips
    calls = []
    for number in range(5):
        calls.append(own_link.call("ECHO", number))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert own_link.round_trips == before + 5
    valkey.resume()
    assert await asyncio.gather(*calls) == [str(number).encode() for number in range(5)]


async def test_many_callers_share_one_connection(link: Link, redis_url: str, prefix: str) -> None:
    name = prefix.replace(":", "")
    busy = Link(f"{redis_url}&client_name={name}")

    async def ask(caller: int) -> None:
        for number in range(20):
            assert await busy.call("ECHO", f"{caller}-{number}") == f"{caller}-{number}".encode()

    await asyncio.gather(*(ask(caller) for caller in range(100)))
    assert await connections(link, name) == 1
    await busy.close()


async def test_callers_get_their_own_replies_or_none_while_connections_break(
    own_link: Link, valkey: OwnValkey
) -> None:
    reasons: list[str] = []

    async def ask(caller: int) -> None:
        for number in range(50):
            try:
                reply = await own_link.call("ECHO", f"{caller}-{number}")
            except StoreUnavailable as error:
                reasons.append(error.reason)
            else:
                assert reply == f"{caller}-{number}".encode()

    killer = Link(valkey.url)
    callers = asyncio.gather(*(ask(caller) for caller in range(100)))
    while not callers.done():
        await killer.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    await callers
    await killer.close()
    assert reasons


async def test_a_script_that_can_not_be_loaded_is_unavailable(
    valkey: OwnValkey, keys: Keys
) -> None:
    admin = Link(valkey.url)
    await admin.call("ACL", "SETUSER", "guest", "on", "nopass", "~*", "&*", "+@all", "-script")
    guest = Link(valkey.url.replace("unix://", "unix://guest:x@"))
    async with asyncio.timeout(5):
        with pytest.raises(StoreUnavailable) as caught:
            await Lobby(guest, keys, starting_hp=100).grant("ana", 0)
    assert caught.value.reason.startswith("NOSCRIPT")
    await guest.close()
    await admin.close()


async def test_scripts_that_the_store_forgot_are_run_once_all_the_same(
    link: Link, keys: Keys
) -> None:
    lobby = Lobby(link, keys, starting_hp=100)
    await lobby.grant("ana", 0)
    await link.call("SCRIPT", "FLUSH")
    grants = [lobby.grant("ana", 1) for _ in range(10)]
    others = [lobby.vouch("ana", "hub", connected=True), link.call("ECHO", "x")]
    replies = await asyncio.gather(*grants, *others)
    assert replies == [*((100 + n, 101 + n) for n in range(10)), True, b"x"]
    assert await lobby.grant("ana", 0) == (110, 110)


async def test_a_script_that_the_store_knows_is_one_round_trip(link: Link, keys: Keys) -> None:
    lobby = Lobby(link, keys, starting_hp=100)
    await lobby.grant("ana", 1)
    before = link.round_trips
    await lobby.grant("ana", 1)
    assert link.round_trips == before + 1


async def test_every_call_under_way_fails_when_the_server_dies(
    own_link: Link, valkey: OwnValkey
) -> None:
    await own_link.call("PING")
    valkey.pause()
    calls = []
    for number in range(12):
        calls.append(own_link.call("ECHO", number))
        await asyncio.sleep(0)
    valkey.kill()
    replies = await outcomes(*calls)
    assert [type(reply) for reply in replies] == [StoreUnavailable] * len(calls)
    valkey.start()


async def test_calls_are_answered_again_after_a_restart(own_link: Link, valkey: OwnValkey) -> None:
    await own_link.call("SET", "kept", "yes")
    valkey.kill()
    with pytest.raises(StoreUnavailable):
        await own_link.call("GET", "kept")
    valkey.start()
    assert await own_link.call("GET", "kept") == b"yes"


async def test_tells_when_the_store_s_answering_begins_and_ends(valkey: OwnValkey) -> None:
    states: list[bool] = []
    link = Link(valkey.url, states.append)
    await outcomes(link.call("PING"), link.call("PING"))
    valkey.kill()
    await outcomes(link.call("PING"), link.call("PING"))
    valkey.start()
    await link.call("PING")
    await link.close()
    assert states == [True, False, True]


async def test_cancelled_callers_do_not_disturb_others(link: Link) -> None:
    """Of thousands of calls half are cancelled anywhere on their way; the rest get their own."""
    chance = random.Random(1)

    async def ask(caller: int) -> bytes:
        for _ in range(chance.randrange(4)):
            await link.call("ECHO", "before")
        reply: bytes = await link.call("ECHO", caller)
        return reply

    tasks = [asyncio.create_task(ask(caller)) for caller in range(4000)]
    cancelled = set(chance.sample(range(4000), 2000))
    for caller in cancelled:
        if not chance.randrange(20):
            await asyncio.sleep(0)
        tasks[caller].cancel()
    replies = await asyncio.gather(*tasks, return_exceptions=True)
    wrong = [
        reply
        for caller, reply in enumerate(replies)
        if reply != str(caller).encode()
        and not (caller in cancelled and isinstance(reply, asyncio.CancelledError))
    ]
    assert wrong == []


async def test_a_server_that_stops_answering_is_not_waited_for(
    own_link: Link, valkey: OwnValkey
) -> None:
    await own_link.call("PING")
    valkey.pause()
    calls = [own_link.call("ECHO", number) for number in range(10)]
    replies = await outcomes(*calls)
    valkey.resume()
    assert [type(reply) for reply in replies] == [StoreUnavailable] * 10


async def test_replies_are_not_mixed_up_after_a_server_s_pause(
    own_link: Link, valkey: OwnValkey
) -> None:
    await asyncio.gather(*(own_link.call("ECHO", "before") for _ in range(10)))
    valkey.pause()
    await outcomes(*(own_link.call("ECHO", "paused") for _ in range(10)))
    waiting = [own_link.call("ECHO", f"waiting {number}") for number in range(10)]
    await asyncio.sleep(0)
    valkey.resume()
    assert await asyncio.gather(*waiting) == [f"waiting {number}".encode() for number in range(10)]


async def test_what_the_store_refuses_is_logged_and_unavailable(link: Link, prefix: str) -> None:
    with capture_logs() as logs:
        replies = await outcomes(
            link.call("SET", prefix + "text", "x"),
            link.call("HGET", prefix + "text", "field"),
            link.call("GET", prefix + "text"),
        )
    reason = "WRONGTYPE Operation against a key holding the wrong kind of value"
    assert replies == [b"OK", replies[1], b"x"]
    assert isinstance(replies[1], StoreUnavailable)
    assert replies[1].reason.startswith(reason)
    assert [entry for entry in logs if entry["event"] == "store_refused"] == [
        {
            "event": "store_refused",
            "log_level": "error",
            "command": "HGET",
            "reason": replies[1].reason,
        }
    ]


async def test_a_store_that_takes_no_writes_is_not_up(valkey: OwnValkey) -> None:
    states: list[bool] = []
    link = Link(valkey.url, states.append)
    await link.call("PING")
    await link.call("REPLICAOF", "127.0.0.1", 1)
    (refused,) = await outcomes(link.call("SET", "key", "value"))
    assert refused.reason.startswith("READONLY")
    assert states == [True, False]
    await link.call("REPLICAOF", "NO", "ONE")
    assert await link.call("SET", "key", "value") == b"OK"
    assert states == [True, False, True]
    await link.close()


async def test_a_command_that_cannot_be_sent_takes_no_other_along(link: Link) -> None:
    async with asyncio.timeout(5):
        reply, other = await outcomes(link.call("ECHO", "\ud800"), link.call("ECHO", "x"))
    assert (type(reply), other) == (StoreUnavailable, b"x")


async def test_a_failure_that_its_caller_does_not_wait_for_makes_no_noise(
    valkey: OwnValkey,
) -> None:
    noise: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: noise.append(context))
    link = Link(valkey.url)
    valkey.kill()
    link.call("PING")
    await link.close()
    gc.collect()
    valkey.start()
    assert noise == []


async def test_closing_waits_for_the_calls_under_way(redis_url: str) -> None:
    link = Link(redis_url)
    calls = [link.call("ECHO", number) for number in range(10)]
    await link.close()
    assert [call.result() for call in calls] == [str(number).encode() for number in range(10)]


async def test_closing_leaves_no_connection(link: Link, redis_url: str, prefix: str) -> None:
    name = prefix.replace(":", "")
    closing = Link(f"{redis_url}&client_name={name}")
    await asyncio.gather(*(closing.call("PING") for _ in range(10)))
    assert await connections(link, name) == 1
    await closing.close()
    assert await connections(link, name) == 0
