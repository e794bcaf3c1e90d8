"""Django Channels on uvicorn, with its Redis layer: a group of consumers."""
# What this imports is installed in a scratch folder only.
# mypy: ignore-errors

import sys
from typing import Any

import django
from asgi import run
from django.conf import settings

settings.configure(
    SECRET_KEY="bench",
    INSTALLED_APPS=["channels"],
    CHANNEL_LAYERS={
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [sys.argv[1]]},
        }
    },
)
django.setup()

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402 - after the settings
from channels.layers import get_channel_layer  # noqa: E402


class _Watch(AsyncWebsocketConsumer):
    groups = ("table",)

    async def move(self, event: dict[str, Any]) -> None:
        await self.send(bytes_data=event["message"])


async def _broadcast(message: bytes) -> None:
    await get_channel_layer().group_send("table", {"type": "move", "message": message})


run(_Watch.as_asgi(), _broadcast)
