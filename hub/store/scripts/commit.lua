-- Move a table by one step, all or nothing, or say why not.
--
-- The payloads stay opaque: a state, events, an action's record, each with a list of stamps
-- [offset, add, floor, ...]: at each offset the script writes max(floor, now + add) as eight bytes.
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
--         6 next deadline as packed [add, floor], or "" if the match ends here
--         7 how long a silence is an outage, in ms   8 the deadline that players know of, or 0
--         9,10 state and its stamps   11,12 record and its stamps
--         13,14 first event and its stamps, and so on
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
if ARGV[3] == 'before' and deadline and now >= tonumber(ARGV[8]) then
  local pulse = tonumber(redis.call('GET', KEYS[6]) or now)
  local outage = now - pulse > tonumber(ARGV[7]) and deadline > pulse
  if now < deadline or outage then
    return {'extended'}
  end
  return {'late'}
end
if ARGV[3] == 'after' and deadline and now < deadline then
  return {'early'}
end

local function stamped(index)
  local payload, stamps = ARGV[index], cmsgpack.unpack(ARGV[index + 1])
  if #stamps == 0 then
    return payload
  end
  local parts, from = {}, 1
  for i = 1, #stamps, 3 do
    local at = stamps[i]
    parts[#parts + 1] = string.sub(payload, from, at)
    parts[#parts + 1] = struct.pack('>I8', math.max(stamps[i + 2], now + stamps[i + 1]))
    from = at + 9
  end
  parts[#parts + 1] = string.sub(payload, from)
  return table.concat(parts)
end

local function bin(bytes)
  return '\198' .. struct.pack('>I4', #bytes) .. bytes
end

local state, record = stamped(9), stamped(11)
local message = {'', '\206' .. struct.pack('>I4', seq + 1), bin(state)}
for index = 13, #ARGV, 2 do
  local event = stamped(index)
  seq = seq + 1
  redis.call('XADD', KEYS[2], string.format('%d-0', seq), 'e', event)
  message[#message + 1] = bin(event)
end
message[1] = '\220' .. struct.pack('>I2', #message - 1)

local fields = {'seq', seq, 'ts', string.format('%.0f', now), 'public', state}
if ARGV[4] ~= '' then
  fields[#fields + 1] = ARGV[4]
  fields[#fields + 1] = record
end
if ARGV[5] ~= '' then
  fields[#fields + 1] = 'secret'
  fields[#fields + 1] = ARGV[5]
end
if ARGV[6] ~= '' then
  local rule = cmsgpack.unpack(ARGV[6])
  local due = string.format('%.0f', math.max(rule[2], now + rule[1]))
  fields[#fields + 1] = 'deadline'
  fields[#fields + 1] = due
  redis.call('ZADD', KEYS[3], due, ARGV[1])
else
  redis.call('HDEL', KEYS[1], 'deadline')
  redis.call('ZREM', KEYS[3], ARGV[1])
  redis.call('SADD', KEYS[4], ARGV[1])
end
redis.call('HSET', KEYS[1], unpack(fields))
redis.call('PUBLISH', KEYS[5], table.concat(message))
return {'committed', record}
