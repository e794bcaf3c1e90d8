-- Add HP to an agent, or take some, never below 0.
--
-- KEYS    1 balances zset   2 board zset
-- ARGV    1 agent id   2 HP to add, or to take if negative   3 starting HP of an unknown agent
-- Returns {HP before, HP after}

redis.call('ZADD', KEYS[1], 'NX', ARGV[3], ARGV[1])
local before = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
local after = string.format('%.0f', math.max(0, before + ARGV[2]))
redis.call('ZADD', KEYS[1], after, ARGV[1])
redis.call('ZADD', KEYS[2], 'XX', after, ARGV[1])
return {string.format('%.0f', before), after}
