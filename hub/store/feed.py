"""Hear what is published: one subscriber connection a hub, watched and mended.

A pub/sub connection can die without an error, alone or with its server, and what was published
meanwhile is lost to it. So the feed publishes a probe to itself every few seconds; when the
connection breaks or the probe does not come back it connects anew, subscribes to everything
again and tells each subscriber, who then reads from the log what it may have missed.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import structlog
from redis.exceptions import RedisError

from .link import Link, StoreUnavailable
from .wire import Wire, Wires, pack_command

PROBE_SECONDS = 3.0  # between probes, give or take a third so that hubs don't act in step
PROBE_ANSWER_SECONDS = 3.0  # with PROBE_SECONDS: a dead subscription is found within 8 s
RECONNECT_SECONDS = (0.05, 1.0)  # the first wait and the longest between attempts, with jitter

# What a broken connection raises; RuntimeError is uvloop's, for one that broke a moment before.
BROKEN = (RedisError, OSError, RuntimeError)

_log = structlog.get_logger()


class Subscription:
    """One subscriber of one channel.

    `on_message` gets each message's bytes; `on_resumed` is called when the feed is back after a
    break in which messages may have been lost.
    """

    def __init__(
        self, channel: str, on_message: Callable[[bytes], None], on_resumed: Callable[[], None]
    ) -> None:
        self.channel = channel
        self.on_message = on_message
        self.on_resumed = on_resumed
        self.active: asyncio.Future[None] = asyncio.get_running_loop().create_future()


class Feed:
    """A hub's one subscriber connection; each channel has at most one subscriber here."""

    def __init__(
        self,
        link: Link,
        probe_channel: str,
        *,
        probe_seconds: float = PROBE_SECONDS,
        answer_seconds: float = PROBE_ANSWER_SECONDS,
    ) -> None:
        self._link = link
        self._probe_seconds = probe_seconds
        self._answer_seconds = answer_seconds
        self._wires = Wires(link.url, answer_seconds)
        self._wire: Wire | None = None
        self._lost: asyncio.Future[str]
        self._subscriptions: dict[bytes, Subscription] = {}
        self._unconfirmed: Counter[bytes] = Counter()
        self._probe_channel = probe_channel
        self._probe_heard = asyncio.Event()
        self._pong_heard = asyncio.Event()

    @property
    def live(self) -> bool:
        """Tell whether there is a connection, as far as is known."""
        return self._wire is not None

    async def start(self) -> None:
        """Connect for the first time. Raises StoreUnavailable if that can't be."""
        probe = Subscription(self._probe_channel, self._hear_probe, lambda: None)
        self._subscriptions[self._probe_channel.encode()] = probe
        try:
            await self._connect()
        except BROKEN as error:
            raise StoreUnavailable(str(error)) from error

    async def run(self) -> None:
        """Deliver what is published, mending the connection as needed, until cancelled.

        Raises what a subscriber's `on_message` or `on_resumed` raises.
        """
        try:
            while True:
                _log.warning("feed_lost", reason=await self._watch())
                await self._reconnect()
        finally:
            self._disconnect()

    async def subscribe(self, subscription: Subscription) -> None:
        """Hear a channel from now on; returns when the store has confirmed it.

        While the store is away this waits until it is back.
        """
        self._subscriptions[subscription.channel.encode()] = subscription
        self._send("SUBSCRIBE", subscription.channel)
        await subscription.active

    def unsubscribe(self, subscription: Subscription) -> None:
        """Stop hearing a channel, unless it has a newer subscriber by now."""
        channel = subscription.channel.encode()
        if self._subscriptions.get(channel) is subscription:
            del self._subscriptions[channel]
            self._send("UNSUBSCRIBE", subscription.channel)

    def _send(self, command: str, *channels: str) -> None:
        if self._wire is None:
            return  # _connect subscribes to everything that is wanted by then
        if command == "SUBSCRIBE":
            self._unconfirmed.update(channel.encode() for channel in channels)
        self._wire.send([pack_command((command, *channels))])  # type: ignore[arg-type]

    async def _connect(self) -> None:
        self._lost = asyncio.get_running_loop().create_future()
        self._wire = await self._wires.open(self._hear, self._lose)
        self._unconfirmed.clear()
        self._send("SUBSCRIBE", *(each.channel for each in self._subscriptions.values()))

    def _disconnect(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    def _lose(self, reason: str) -> None:
        self._wire = None
        if not self._lost.done():
            self._lost.set_result(reason)

    async def _watch(self) -> str:
        """Send probes until the connection is lost or one does not come back; returns which."""
        while True:
            pause = self._probe_seconds * random.uniform(2 / 3, 4 / 3)
            await asyncio.wait([self._lost], timeout=pause)
            if self._lost.done():
                return self._lost.result()
            if not await self._probe():
                return "a probe did not come back"

    async def _probe(self) -> bool:
        """Try both ways: a message that others could have sent, and a command of its own."""
        self._probe_heard.clear()
        self._pong_heard.clear()
        try:
            async with asyncio.timeout(self._answer_seconds):
                self._send("PING")
                await self._link.call("PUBLISH", self._probe_channel, "")
                await self._probe_heard.wait()
                await self._pong_heard.wait()
        except (TimeoutError, StoreUnavailable):
            return False
        return True

    def _hear_probe(self, _message: bytes) -> None:
        self._probe_heard.set()

    def _hear(self, reply: Any) -> None:
        try:
            self._dispatch(reply)
        except Exception as error:
            if not self._lost.done():
                self._lost.set_exception(error)

    def _dispatch(self, reply: list[Any]) -> None:
        kind, channel, *payload = reply
        subscription = self._subscriptions.get(channel)
        if kind == b"message" and subscription is not None:
            subscription.on_message(*payload)
        elif kind == b"subscribe":
            self._confirm(channel, subscription)
        elif kind == b"pong":
            self._pong_heard.set()

    def _confirm(self, channel: bytes, subscription: Subscription | None) -> None:
        self._unconfirmed[channel] -= 1
        if self._unconfirmed[channel]:
            return  # it was left and subscribed to again; only the last confirmation counts
        del self._unconfirmed[channel]
        if subscription is None:
            return
        if subscription.active.done():
            subscription.on_resumed()
        else:
            subscription.active.set_result(None)

    async def _reconnect(self) -> None:
        wait, longest = RECONNECT_SECONDS
        while True:
            self._disconnect()
            try:
                await self._connect()
            except BROKEN:
                await asyncio.sleep(random.uniform(0, wait))
                wait = min(wait * 2, longest)
            else:
                _log.info("feed_resumed", channels=len(self._subscriptions))
                return
