-- Note how many spectators of a table one hub has, and tell all hubs when the total changes.
--
-- KEYS    1 crowd hash   2 feed channel
-- ARGV    1 hub id   2 its spectators   3 for how long that holds, in ms
-- Returns the total
-- Publishes [-1, total] packed, on the feed channel.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local before = tonumber(redis.call('HGET', KEYS[1], 'total') or 0)
redis.call('HDEL', KEYS[1], 'total')
redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %.0f', ARGV[2], now + ARGV[3]))
local total = 0
local hubs = redis.call('HGETALL', KEYS[1])
for i = 1, #hubs, 2 do
  local count, expires = string.match(hubs[i + 1], '(%d+) (%d+)')
  if count == '0' or tonumber(expires) <= now then
    redis.call('HDEL', KEYS[1], hubs[i])
  else
    total = total + count
  end
end
if total > 0 then
  redis.call('HSET', KEYS[1], 'total', total)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
if total ~= before then
  redis.call('PUBLISH', KEYS[2], '\146\255' .. cmsgpack.pack(total))
end
return total
