-- Take an agent out of the queue, and let it not join again after the match it is in.
--
-- KEYS    1 queue zset   2 requests hash   3 rejoins hash
-- ARGV    1 agent id
-- Returns 1 if the agent was queued or would have joined again, else 0

local left = redis.call('ZREM', KEYS[1], ARGV[1]) + redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return math.min(left, 1)
