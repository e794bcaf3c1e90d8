-- Let an agent in: give it its starting HP at its first visit, and say where it stands.
--
-- KEYS    1 balances zset   2 names hash   3 seats hash   4 queue zset   5 presence zset
-- ARGV    1 agent id   2 name   3 starting HP   4 hub id   5 lease in ms
-- Returns {HP, match id or false, ticket or false, 1 if the agent was connected nowhere else}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[1], 'NX', ARGV[3], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now)
local first = redis.call('ZCARD', KEYS[5]) == 0
redis.call('ZADD', KEYS[5], now + ARGV[5], ARGV[4])
redis.call('PEXPIRE', KEYS[5], ARGV[5])
return {
  redis.call('ZSCORE', KEYS[1], ARGV[1]),
  redis.call('HGET', KEYS[3], ARGV[1]),
  redis.call('ZSCORE', KEYS[4], ARGV[1]),
  first and 1 or 0,
}
