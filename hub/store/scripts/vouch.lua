-- Renew or end a hub's word that an agent is connected to it.
--
-- KEYS    1 presence zset of the agent
-- ARGV    1 hub id   2 lease in ms; 0: the agent has left this hub
-- Returns how many hubs vouch for the agent now

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if ARGV[2] == '0' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return redis.call('ZCARD', KEYS[1])
