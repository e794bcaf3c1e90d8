-- Book a match's result: pay out, free the seats, queue again who wants to. At most once a match.
--
-- A match has stakes (0 HP in a free one) from its forming until it is booked.
--
-- KEYS    1 stakes hash   2 balances zset   3 seats hash   4 live set   5 rows hash
--         6 queue zset   7 requests hash   8 rejoins hash   9 counters hash   10 board zset
--         11 matches hash   12 wins hash   13 lobby channel   14 index zset   15 finished zset
-- ARGV    1 match id   2 packed listed match   3 packed notice   4 "1" if ranked
--         5 platform fee in HP
--         6,7,8 agent id, payout in HP, "1" if it won, and so on for each seat
-- Returns 1, or 0 if it was booked before
-- Publishes the notice, and then, if there are such, which agents can't pay their lowest fee any
-- more and have not joined again.

if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
  return 0
end
redis.call('HINCRBY', KEYS[9], 'platform_fees', ARGV[5])
local broke = {}
for i = 6, #ARGV, 3 do
  local agent = ARGV[i]
  local hp = redis.call('ZINCRBY', KEYS[2], ARGV[i + 1], agent)
  if ARGV[4] == '1' then
    redis.call('ZADD', KEYS[10], hp, agent)
    redis.call('HINCRBY', KEYS[11], agent, 1)
    redis.call('HINCRBY', KEYS[12], agent, ARGV[i + 2])
  end
  redis.call('HDEL', KEYS[3], agent)
  local lowest = redis.call('HGET', KEYS[8], agent)
  if lowest and tonumber(hp) >= tonumber(lowest) then
    redis.call('ZADD', KEYS[6], redis.call('HINCRBY', KEYS[9], 'ticket', 1), agent)
  elseif lowest then
    redis.call('HDEL', KEYS[8], agent)
    redis.call('HDEL', KEYS[7], agent)
    broke[#broke + 1] = agent
  end
end
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('ZADD', KEYS[15], redis.call('ZSCORE', KEYS[14], ARGV[1]) or 0, ARGV[1])
redis.call('HSET', KEYS[5], ARGV[1], ARGV[2])
redis.call('PUBLISH', KEYS[13], ARGV[3])
if #broke > 0 then
  redis.call('PUBLISH', KEYS[13], cmsgpack.pack({type = 'Broke', agent_ids = broke}))
end
return 1
