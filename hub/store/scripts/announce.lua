-- Tell who follows a table whether a seat's agent is connected, as of this moment.
--
-- Reading and telling are one step: in whatever order hubs do this, the last word is the truth.
--
-- KEYS    1 presence zset of the agent
-- ARGV    1 feed channel of the table   2 seat
-- Returns 1 if the agent is connected, else 0
-- Publishes [0, seat, connected] packed, on the feed channel.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local connected = redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf') > 0
redis.call('PUBLISH', ARGV[1], cmsgpack.pack({0, tonumber(ARGV[2]), connected}))
return connected and 1 or 0
