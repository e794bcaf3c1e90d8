-- Move a table by one step, all or nothing, or say why not.
--
-- What is kept stays opaque, but for the times to fill in: wherever the mark stands, [mark, add,
-- floor] becomes max(floor, now + add).
--
-- After an outage (see claim.lua) a deadline may have moved, or be about to, without the players'
-- having been told. An action that comes after the deadline they know of has to wait for that.
--
-- KEYS    1 match hash   2 log stream   3 due zset   4 outbox set   5 feed channel   6 pulse
-- ARGV    1 match id
--         2 expected seq; 0: the match must not exist yet
--         3 "before": only before the deadline; "after": only once it has passed; "any"
--         4 hash field of the action's record, or ""
--         5 server seed of a new match, or ""
--         6 the plan, packed: how long a silence is an outage, in ms; the deadline that players
--           know of, or 0; [any, add, floor] of the next one, or nil if the match ends here
--         7 the mark   8 state   9 record   10 first event, and so on
-- Returns {"committed", record} | {"conflict", seq, public, secret} | {"replayed", record}
--         | {"late"} | {"early"} | {"extended"}
-- Publishes [first seq, state, event, event, ...] packed, on the feed channel.

local held = redis.call('HMGET', KEYS[1], 'seq', 'ts', 'deadline', ARGV[4])
local seq = tonumber(held[1] or 0)
if ARGV[4] ~= '' and held[4] then
  return {'replayed', held[4]}
end
if seq ~= tonumber(ARGV[2]) then
  local newer = redis.call('HMGET', KEYS[1], 'public', 'secret')
  return {'conflict', seq, newer[1], newer[2]}
end

local time = redis.call('TIME')
local now = math.max(time[1] * 1000 + math.floor(time[2] / 1000), tonumber(held[2] or 0))
local deadline = tonumber(held[3] or '')
local silence, known, due = unpack(cmsgpack.unpack(ARGV[6]), 1, 3)
if ARGV[3] == 'before' and deadline and now >= known then
  local pulse = tonumber(redis.call('GET', KEYS[6]) or now)
  local outage = now - pulse > silence and deadline > pulse
  if now < deadline or outage then
    return {'extended'}
  end
  return {'late'}
end
if ARGV[3] == 'after' and deadline and now < deadline then
  return {'early'}
end

local function filled(payload)
  local mark = ARGV[7]
  local at, from, parts = string.find(payload, mark, 1, true), 1, {}
  while at do
    local add, floor, after = struct.unpack('>xdxd', payload, at + #mark)
    parts[#parts + 1] = string.sub(payload, from, at - 1)
    parts[#parts + 1] = struct.pack('>BI8', 207, math.max(floor, now + add))
    from = after
    at = string.find(payload, mark, from, true)
  end
  parts[#parts + 1] = string.sub(payload, from)
  return table.concat(parts)
end

local state, record = filled(ARGV[8]), filled(ARGV[9])
local message = {
  struct.pack('>BI2BI4', 220, #ARGV - 7, 206, seq + 1),
  struct.pack('>BI4', 198, #state),
  state,
}
for i = 10, #ARGV do
  local event = filled(ARGV[i])
  seq = seq + 1
  redis.call('XADD', KEYS[2], seq .. '-0', 'e', event)
  message[#message + 1] = struct.pack('>BI4', 198, #event)
  message[#message + 1] = event
end

local fields = {'seq', seq, 'ts', now, 'public', state}
if ARGV[4] ~= '' then
  fields[#fields + 1] = ARGV[4]
  fields[#fields + 1] = record
end
if ARGV[5] ~= '' then
  fields[#fields + 1] = 'secret'
  fields[#fields + 1] = ARGV[5]
end
if due then
  local at = math.max(due[3], now + due[2])
  fields[#fields + 1] = 'deadline'
  fields[#fields + 1] = at
  redis.call('ZADD', KEYS[3], at, ARGV[1])
else
  redis.call('HDEL', KEYS[1], 'deadline')
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('SADD', KEYS[4], ARGV[1])
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PUBLISH', KEYS[5], table.concat(message))
return {'committed', record}
