-- Take a finished match off every list. Its table must be gone already.
--
-- KEYS    1 finished zset   2 index zset   3 rows hash
--         4 what agents' lists of matches start with; the agent id follows (same slot)
-- ARGV    1 match id   2 agent id, and so on for each seat
-- Returns 1, or 0 if it was not there

for i = 2, #ARGV do
  redis.call('ZREM', KEYS[4] .. ARGV[i], ARGV[1])
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])
