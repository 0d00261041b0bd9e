-- All in parts: the request, the burst, what a microsecond brings, a token.
local own, burst, microsecond, token = argument(1), argument(2), argument(3), argument(4)

local level, at = burst, now
local state = read('tokens', 3)
if state then
  level = state[1]
  if state[2] ~= token then level = math.floor(level / state[2]) * token end  -- of another rate: whole tokens
  at = math.max(now, state[3])
  -- A product above 2^53 is not exact, but above any burst.
  level = math.min(burst, level + (at - state[3]) * microsecond)
end

local passes = level >= own
if passes and own > 0 then
  level = level - own
  write('tokens', at + math.floor((burst - level) / microsecond), {level, token, at})
end
return {passes and 1 or 0, level, at - now}
