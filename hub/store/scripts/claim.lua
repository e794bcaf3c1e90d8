-- Claim the tables of one slot whose deadline has passed, each for one hub at a time.
--
-- A claim moves the table's entry forward by the lease. The claimer's commit sets the next
-- deadline; if the claimer dies, the table comes up again when the lease is over.
--
-- KEYS    1 due zset
-- ARGV    1 lease in ms   2 how many to claim at most
-- Returns {ms until the slot's next entry or -1, match id, match id, ...}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[2])
for _, id in ipairs(due) do
  redis.call('ZADD', KEYS[1], now + ARGV[1], id)
end
local next = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local wait = -1
if next[2] then
  wait = math.max(0, math.ceil(next[2] - now))
end
return {wait, unpack(due)}
