-- The request's units, the limit, the windows' length in microseconds.
local own, limit, length = argument(1), argument(2), argument(3)

local begin, last, present = now - now % length, 0, 0
local state = read('counters', 3)
if state then
  local windows = math.floor((now - state[1]) / length)
  if windows <= 0 then
    begin, last, present = state[1], state[2], state[3]
  elseif windows == 1 then
    begin, last = state[1] + length, state[3]
  end
end

local of_last = length - math.max(0, now - begin)
local passes = last * of_last + (present + own) * length <= limit * length
if passes and own > 0 then
  present = present + own
  write('counters', begin + 2 * length, {begin, last, present})
end
return {passes and 1 or 0, last, present, now - begin}
