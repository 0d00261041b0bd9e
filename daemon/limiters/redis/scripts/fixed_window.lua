-- The request's units, the limit, the window's length in microseconds; whether a window begins with its first
-- event.
local own, limit, length, first_event = argument(1), argument(2), argument(3), argument(4) == 1

local begin, used = first_event and now or now - now % length, 0
local state = read('fixed', 2)
if state and now - state[1] < length then begin, used = state[1], state[2] end

local passes = used + own <= limit
if passes and own > 0 then
  used = used + own
  write('fixed', begin + length, {begin, used})
end
return {passes and 1 or 0, used, begin + length - now}
