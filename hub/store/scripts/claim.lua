-- Claim the tables of one slot whose deadline has passed, each for one hub at a time.
--
-- A claim moves the table's entry forward by the lease. The claimer's commit sets the next
-- deadline; if the claimer dies, the table comes up again when the lease is over.
--
-- Each call leaves the time behind. If the last one is long ago, the store or every hub was away:
-- each deadline that was set before that and had not passed when it began is moved by its whole
-- length, and its table is due at once, so that whoever claims it tells the players. No table
-- moves during an outage, so a commit in the first half of it was before and one after it, after.
--
-- KEYS    1 due zset   2 pulse: the time of the last call (ms)
--         3 what match hashes' names start with; the match id follows (same slot)
-- ARGV    1 lease in ms   2 how many to claim at most   3 how long a silence is an outage, in ms
-- Returns {ms until the slot's next entry or -1, match id, match id, ...}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local pulse = tonumber(redis.call('GET', KEYS[2]) or now)
redis.call('SET', KEYS[2], string.format('%.0f', now))
local away = now - pulse
if away > tonumber(ARGV[3]) then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local held = redis.call('HMGET', KEYS[3] .. id, 'deadline', 'ts')
    local deadline = tonumber(held[1] or 0)
    if deadline > pulse and tonumber(held[2]) < pulse + away / 2 then
      redis.call('HSET', KEYS[3] .. id, 'deadline', string.format('%.0f', deadline + away))
      redis.call('ZADD', KEYS[1], now, id)
    end
  end
end

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
