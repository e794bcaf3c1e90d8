-- List the agents that wait and are connected, who came first first.
--
-- An agent whose every hub has stopped vouching for it keeps its place but is not listed.
--
-- KEYS    1 queue zset   2 requests hash   3 balances zset
--         4 what presence zsets' names start with; the agent id follows (same slot)
-- ARGV    1 how many to list at most
-- Returns {agent id, ticket, packed request, HP, agent id, ...}

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local limit, from, found = tonumber(ARGV[1]), 0, {}
repeat
  local queue = redis.call('ZRANGE', KEYS[1], from, from + limit - 1, 'WITHSCORES')
  for i = 1, #queue, 2 do
    local agent = queue[i]
    local vouchers = redis.call('ZCOUNT', KEYS[4] .. agent, '(' .. now, '+inf')
    if vouchers > 0 and #found < 4 * limit then
      found[#found + 1] = agent
      found[#found + 1] = queue[i + 1]
      found[#found + 1] = redis.call('HGET', KEYS[2], agent)
      found[#found + 1] = redis.call('ZSCORE', KEYS[3], agent)
    end
  end
  from = from + limit
until #queue == 0 or #found == 4 * limit
return found
