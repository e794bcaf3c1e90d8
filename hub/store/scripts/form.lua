-- Take a party from the queue, stake its fees and give it a table, all or nothing.
--
-- The formed table is kept until its match exists, so that any hub can finish the work.
--
-- KEYS    1 queue zset   2 requests hash   3 rejoins hash   4 counters hash   5 seats hash
--         6 balances zset   7 forming hash   8 stakes hash   9 index zset   10 board zset
--         11 what agents' lists of matches start with; the agent id follows (same slot)
-- ARGV    1 match id   2 entry fee in HP   3 packed party
--         4,5 agent id and ticket, and so on for each agent
-- Returns [party, [HP after staking, ...]] packed, as it is kept,
--         or false if an agent is no longer queued under its ticket or can't pay

for i = 4, #ARGV, 2 do
  local ticket = redis.call('ZSCORE', KEYS[1], ARGV[i])
  local hp = tonumber(redis.call('ZSCORE', KEYS[6], ARGV[i]) or 0)
  if ticket ~= ARGV[i + 1] or hp < tonumber(ARGV[2]) then
    return false
  end
end
local left, staked = {}, 0
local serial = redis.call('HINCRBY', KEYS[4], 'serial', 1)
for i = 4, #ARGV, 2 do
  local agent = ARGV[i]
  local hp = redis.call('ZINCRBY', KEYS[6], -ARGV[2], agent)
  redis.call('ZADD', KEYS[10], 'XX', hp, agent)
  left[#left + 1] = tonumber(hp)
  staked = staked + ARGV[2]
  redis.call('ZREM', KEYS[1], agent)
  redis.call('HSET', KEYS[5], agent, ARGV[1])
  redis.call('ZADD', KEYS[11] .. agent, serial, ARGV[1])
  if redis.call('HEXISTS', KEYS[3], agent) == 0 then
    redis.call('HDEL', KEYS[2], agent)
  end
end
local formed = '\146\198' .. struct.pack('>I4', #ARGV[3]) .. ARGV[3] .. cmsgpack.pack(left)
redis.call('HSET', KEYS[7], ARGV[1], formed)
redis.call('HSET', KEYS[8], ARGV[1], string.format('%.0f', staked))
redis.call('ZADD', KEYS[9], serial, ARGV[1])
return formed
