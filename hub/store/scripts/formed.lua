-- Close the forming of a table whose match exists by now, and tell every hub who sits there.
--
-- KEYS    1 forming hash   2 live set   3 rows hash   4 lobby channel   5 stakes hash
-- ARGV    1 match id   2 packed listed match   3 packed notice
-- Returns 1, or 0 if another hub has done it, or the match is over and booked

local forming = redis.call('HDEL', KEYS[1], ARGV[1])
if forming == 0 or redis.call('HEXISTS', KEYS[5], ARGV[1]) == 0 then
  return 0
end
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[2])
redis.call('PUBLISH', KEYS[4], ARGV[3])
return 1
