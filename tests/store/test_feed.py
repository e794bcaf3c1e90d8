import asyncio
from collections.abc import AsyncIterator
from typing import get_args

import pytest

from hub.store.feed import Feed
from hub.store.link import Link, StoreUnavailable
from tests.store.parts import Ear, until
from tests.store.valkey import OwnValkey, Way, proxied

PROBE_SECONDS = 0.02
ANSWER_SECONDS = 0.2


class Listener:
    """A feed that runs, with a link of its own."""

    def __init__(self, url: str, name: str = "feed", *, probe_seconds: float = 60.0) -> None:
        # The name tells this feed's connections from others in the server's list.
        separator = "&" if "?" in url else "?"
        self.link = Link(f"{url}{separator}client_name={name}", answer_seconds=ANSWER_SECONDS)
        self.probe_channel = f"probe:{name}"
        self.feed = Feed(
            self.link,
            self.probe_channel,
            probe_seconds=probe_seconds,
            answer_seconds=ANSWER_SECONDS,
        )

    async def __aenter__(self) -> "Listener":
        await self.feed.start()
        self._running = asyncio.create_task(self.feed.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._running.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        await self.link.close()

    async def hear(self, channel: str) -> Ear:
        """Subscribe to a channel."""
        ear = Ear(channel)
        await self.feed.subscribe(ear.subscription)
        return ear


@pytest.fixture
async def listener(valkey: OwnValkey) -> AsyncIterator[Listener]:
    async with Listener(valkey.url) as listener:
        yield listener


@pytest.fixture
async def other(valkey: OwnValkey) -> AsyncIterator[Link]:
    """Somebody else at the same server."""
    link = Link(valkey.url)
    yield link
    await link.close()


async def publish(link: Link, channel: str, *messages: str) -> None:
    await asyncio.gather(*(link.call("PUBLISH", channel, message) for message in messages))


async def subscribers(link: Link, name: str = "feed") -> list[str]:
    """List the ids of a feed's subscriber connections."""
    clients: bytes = await link.call("CLIENT", "LIST", "TYPE", "pubsub")
    return [
        line.split()[0].removeprefix("id=")
        for line in clients.decode().splitlines()
        if f" name={name} " in line
    ]


async def cut(link: Link, name: str = "feed") -> None:
    """Break a feed's connection from the server's side."""
    for id in await subscribers(link, name):
        await link.call("CLIENT", "KILL", "ID", id)


# ---- Subscribing


async def test_what_is_published_after_subscribing_is_heard(
    listener: Listener, other: Link
) -> None:
    ears = [await listener.hear(f"c{number}") for number in range(20)]
    # Straight after, and on another connection: only a confirmed subscription hears it.
    await asyncio.gather(*(publish(other, f"c{number}", str(number)) for number in range(20)))
    assert [await ear.hear(1) for ear in ears] == [[b"%d" % number] for number in range(20)]


async def test_messages_come_in_order(listener: Listener, other: Link) -> None:
    ear = await listener.hear("c")
    messages = [str(number) for number in range(1000)]
    await publish(other, "c", *messages)
    assert await ear.hear(1000) == [message.encode() for message in messages]


async def test_only_the_channel_s_own_messages_come(listener: Listener, other: Link) -> None:
    a, b = await listener.hear("a"), await listener.hear("b")
    await publish(other, "a", "1")
    await publish(other, "b", "2")
    await publish(other, "a", "3")
    assert (await a.hear(2), await b.hear(1)) == ([b"1", b"3"], [b"2"])


async def test_an_unsubscribed_channel_is_not_heard(listener: Listener, other: Link) -> None:
    gone, kept = await listener.hear("gone"), await listener.hear("kept")
    listener.feed.unsubscribe(gone.subscription)
    await publish(other, "gone", "1")
    await publish(other, "kept", "2")
    await kept.hear(1)
    assert gone.messages == []


async def test_a_channel_can_be_left_and_subscribed_to_again_at_once(
    listener: Listener, other: Link
) -> None:
    for round in range(50):
        first, second = Ear("c"), Ear("c")
        subscribing = asyncio.create_task(listener.feed.subscribe(first.subscription))
        for _ in range(1 + round % 5):
            await asyncio.sleep(0)
        listener.feed.unsubscribe(first.subscription)
        await listener.feed.subscribe(second.subscription)
        await publish(other, "c", "x")
        assert await second.hear(1) == [b"x"]
        subscribing.cancel()
        await asyncio.gather(subscribing, return_exceptions=True)
        listener.feed.unsubscribe(second.subscription)


async def test_a_newer_subscription_is_not_confirmed_by_an_older_one_s_confirmation(
    listener: Listener, valkey: OwnValkey
) -> None:
    first, second = Ear("c"), Ear("c")
    older = asyncio.create_task(listener.feed.subscribe(first.subscription))
    await asyncio.sleep(0)
    valkey.wait_until_idle()  # the older one's confirmation is on its way
    valkey.pause()
    listener.feed.unsubscribe(first.subscription)
    newer = asyncio.create_task(listener.feed.subscribe(second.subscription))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not newer.done()
    valkey.resume()
    await newer
    older.cancel()


async def test_leaving_late_does_not_end_a_newer_subscription(
    listener: Listener, other: Link
) -> None:
    old = await listener.hear("c")
    new = await listener.hear("c")
    listener.feed.unsubscribe(old.subscription)
    await publish(other, "c", "x")
    assert (await new.hear(1), old.messages) == ([b"x"], [])


async def test_a_cancelled_subscriber_does_not_disturb_others(
    listener: Listener, other: Link
) -> None:
    ear = await listener.hear("c")
    for round in range(40):
        subscribing = asyncio.create_task(listener.feed.subscribe(Ear("d").subscription))
        for _ in range(round % 8):
            await asyncio.sleep(0)
        subscribing.cancel()
        await asyncio.gather(subscribing, return_exceptions=True)
    await publish(other, "c", "x")
    assert (await ear.hear(1), ear.resumed) == ([b"x"], 0)


async def test_a_feed_can_not_start_without_a_store(valkey: OwnValkey) -> None:
    valkey.kill()
    feed = Feed(Link(valkey.url), "probe:feed")
    with pytest.raises(StoreUnavailable):
        await feed.start()
    assert not feed.live
    valkey.start()


# ---- Breaks


async def test_every_subscriber_learns_of_a_break(listener: Listener, other: Link) -> None:
    ears = [await listener.hear(f"c{number}") for number in range(10)]
    await cut(other)
    for ear in ears:
        await ear.resume()
    await publish(other, "c3", "x")
    await ears[3].hear(1)
    assert [ear.resumed for ear in ears] == [1] * 10
    assert listener.feed.live


async def test_after_a_break_a_subscriber_hears_before_it_is_told(
    listener: Listener, other: Link
) -> None:
    """What is published between the two could otherwise be in neither the log nor the feed."""
    ear = await listener.hear("c")
    for times in range(1, 6):
        await cut(other)
        await ear.resume(times)
        await publish(other, "c", f"after break {times}")
        await ear.hear(times)
    assert ear.messages == [f"after break {times}".encode() for times in range(1, 6)]


async def test_what_was_left_is_not_subscribed_to_again(listener: Listener, other: Link) -> None:
    gone, kept = await listener.hear("gone"), await listener.hear("kept")
    listener.feed.unsubscribe(gone.subscription)
    await cut(other)
    await kept.resume()
    assert await other.call("PUBSUB", "NUMSUB", "gone", "kept") == [b"gone", 0, b"kept", 1]
    assert gone.resumed == 0


async def test_breaks_leave_no_connection_behind(listener: Listener, other: Link) -> None:
    """Whoever subscribes as the connection breaks opens none of its own."""
    ear = await listener.hear("c")
    for times in range(1, 11):
        await cut(other)
        latecomers: list[asyncio.Task[None]] = []
        while ear.resumed < times:
            late = Ear(f"late{times}-{len(latecomers)}")
            latecomers.append(asyncio.create_task(listener.feed.subscribe(late.subscription)))
            await asyncio.sleep(0)
        await asyncio.gather(*latecomers)
    assert len(await subscribers(other)) == 1


async def test_a_server_that_restarts_is_found_again(
    listener: Listener, valkey: OwnValkey, other: Link
) -> None:
    ear = await listener.hear("c")
    valkey.kill()
    valkey.start()
    await ear.resume()
    await publish(other, "c", "x")
    assert await ear.hear(1) == [b"x"]


async def test_a_subscription_made_while_the_store_is_away_takes_effect_when_it_is_back(
    listener: Listener, valkey: OwnValkey, other: Link
) -> None:
    first = await listener.hear("first")
    valkey.kill()
    await until(lambda: not listener.feed.live)
    later = Ear("later")
    subscribing = asyncio.create_task(listener.feed.subscribe(later.subscription))
    await asyncio.sleep(0)
    assert not subscribing.done()
    valkey.start()
    await subscribing
    await publish(other, "later", "x")
    assert await later.hear(1) == [b"x"]
    assert (first.resumed, later.resumed) == (1, 0)


async def test_a_subscription_that_is_under_way_as_the_connection_breaks_takes_effect(
    listener: Listener, valkey: OwnValkey, other: Link
) -> None:
    await listener.hear("first")
    valkey.pause()
    later = Ear("later")
    subscribing = asyncio.create_task(listener.feed.subscribe(later.subscription))
    await asyncio.sleep(0)
    valkey.kill()
    valkey.start()
    await subscribing
    await publish(other, "later", "x")
    assert await later.hear(1) == [b"x"]


async def test_a_channel_left_while_the_store_is_away_stays_left(
    listener: Listener, valkey: OwnValkey, other: Link
) -> None:
    gone, kept = await listener.hear("gone"), await listener.hear("kept")
    valkey.kill()
    await until(lambda: not listener.feed.live)
    listener.feed.unsubscribe(gone.subscription)
    valkey.start()
    await kept.resume()
    assert await other.call("PUBSUB", "NUMSUB", "gone", "kept") == [b"gone", 0, b"kept", 1]


# ---- Silence


async def test_a_quiet_feed_stays_connected(valkey: OwnValkey, other: Link) -> None:
    async with (
        Listener(valkey.url, probe_seconds=PROBE_SECONDS) as quiet,
        Listener(valkey.url, "witness") as witness,
    ):
        ear = await quiet.hear("c")
        before = await subscribers(other)
        await (await witness.hear(quiet.probe_channel)).hear(8)
        assert await subscribers(other) == before
        assert (ear.resumed, ear.messages) == (0, [])


@pytest.mark.parametrize("way", get_args(Way))
async def test_a_dead_subscription_is_found_while_commands_work(
    valkey: OwnValkey, other: Link, way: Way
) -> None:
    async with (
        proxied(valkey.url) as proxy,
        Listener(proxy.url, probe_seconds=PROBE_SECONDS) as listener,
    ):
        ear = await listener.hear("c")
        proxy.lose(("subscriber", way))
        while listener.feed.live:
            assert await listener.link.call("ECHO", "x") == b"x"
        proxy.lose()
        await ear.resume()
        await publish(other, "c", "x")
        assert await ear.hear(1) == [b"x"]


async def test_a_black_hole_that_outlasts_many_attempts_is_left_in_the_end(
    valkey: OwnValkey, other: Link
) -> None:
    async with (
        proxied(valkey.url) as proxy,
        Listener(proxy.url, probe_seconds=PROBE_SECONDS) as listener,
    ):
        ear = await listener.hear("c")
        proxy.lose(("subscriber", "down"), ("commander", "down"))
        before = proxy.connections
        await until(lambda: proxy.connections >= before + 3)
        proxy.lose()
        await ear.resume()
        await publish(other, "c", "x")
        assert await ear.hear(1) == [b"x"]
