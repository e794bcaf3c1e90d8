-- Put an agent into the queue.
--
-- KEYS    1 queue zset   2 requests hash   3 rejoins hash   4 counters hash   5 seats hash
--         6 balances zset
-- ARGV    1 agent id   2 packed request   3 lowest fee   4 "1" to join again after each match
-- Returns {"queued", position from 1, waiting} | {"already_queued"} | {"already_seated", match id}
--         | {"insufficient_hp", HP}

local seat = redis.call('HGET', KEYS[5], ARGV[1])
if seat then
  return {'already_seated', seat}
end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return {'already_queued'}
end
local hp = tonumber(redis.call('ZSCORE', KEYS[6], ARGV[1]) or 0)
if hp < tonumber(ARGV[3]) then
  return {'insufficient_hp', string.format('%.0f', hp)}
end
redis.call('ZADD', KEYS[1], redis.call('HINCRBY', KEYS[4], 'ticket', 1), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
if ARGV[4] == '1' then
  redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
else
  redis.call('HDEL', KEYS[3], ARGV[1])
end
return {'queued', redis.call('ZRANK', KEYS[1], ARGV[1]) + 1, redis.call('ZCARD', KEYS[1])}
