-- What each limiter's script begins with. Numbers are whole and below 2^53, so they are exact.
-- ARGV[1]: the time in microseconds; empty: it is the server's, and what is written expires.
local key = KEYS[1]
local given = tonumber(ARGV[1])
local now = given
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local function argument(place)
  return tonumber(ARGV[place + 1])
end

-- The numbers that a limiter of this kind has written; nil: the key is new.
local function read(kind, count)
  local state = redis.call('GET', key)
  if not state then return nil end
  local numbers = {}
  for number in string.gmatch(state, ' (%d+)') do numbers[#numbers + 1] = tonumber(number) end
  if string.match(state, '^%a+') ~= kind or #numbers ~= count then
    error('WRONGTYPE the value is not one of a limiter of this kind')
  end
  return numbers
end

-- The millisecond that begins after `time`, a part of a microsecond included.
local function expiry(time)
  return string.format('%.0f', (time - time % 1000) / 1000 + 1)
end

local function write(kind, as_new_at, numbers)
  local state = kind
  for _, number in ipairs(numbers) do state = state .. string.format(' %.0f', number) end
  if given then
    redis.call('SET', key, state)
  else
    redis.call('SET', key, state, 'PXAT', expiry(as_new_at))
  end
end

