-- The request's units, the limit, the window's length in microseconds. A sorted set has, at the time of each event,
-- the units of all up to and with it, in 16 digits. What has left the window goes, but for its latest.
local own, limit, length = argument(1), argument(2), argument(3)

local function event(place)
  local found = redis.call('ZRANGE', key, place, place, 'WITHSCORES')
  return tonumber(found[1] or 0), tonumber(found[2] or 0)
end

local function add(at, total)
  redis.call('ZADD', key, string.format('%.0f', at), string.format('%016.0f', total))
end

local total, latest = event(-1)
local present = math.max(now, latest)
-- How many have left the window; the sum of the last of them.
local out = redis.call('ZCOUNT', key, '-inf', string.format('%.0f', present - length))
local total_out = out > 0 and event(out - 1) or 0

local passes, wait = total - total_out + own <= limit, 0
if passes and own > 0 then
  if out > 1 then redis.call('ZREMRANGEBYRANK', key, 0, out - 2) end
  if total >= 2 ^ 52 then  -- larger ones would not be exact: counted anew from the window's begin
    local events = redis.call('ZRANGE', key, out > 0 and 1 or 0, -1, 'WITHSCORES')
    redis.call('DEL', key)
    for i = 1, #events, 2 do add(events[i + 1], events[i] - total_out) end
    total, total_out = total - total_out, 0
  end
  total, latest = total + own, present
  add(latest, total)
  if not given then redis.call('PEXPIREAT', key, expiry(latest + length)) end
elseif not passes then
  local low, high = out, redis.call('ZCARD', key) - 1  -- the first event without which the request would pass
  while low < high do
    local middle = math.floor((low + high) / 2)
    if event(middle) >= total + own - limit then high = middle else low = middle + 1 end
  end
  local _, at = event(low)
  wait = at + length - now
end
return {passes and 1 or 0, total - total_out, wait, latest + length - now}
