-- The request's and the burst's time, each in microseconds and parts; the parts of a microsecond.
local own, own_rest, burst, burst_rest, parts = argument(1), argument(2), argument(3), argument(4), argument(5)

-- When a unit may pass without using any burst: not before now.
local next, next_rest = now, 0
local state = read('gcra', 3)
if state then
  local at, rest = state[1], state[2]
  if state[3] ~= parts and rest > 0 then at, rest = at + 1, 0 end  -- of another rate: rounded up
  if at >= now then next, next_rest = at, rest end
end

local after, after_rest = next + own, next_rest + own_rest
if after_rest >= parts then after, after_rest = after + 1, after_rest - parts end
local passes = after < now + burst or (after == now + burst and after_rest <= burst_rest)
if passes and own + own_rest > 0 then
  next, next_rest = after, after_rest
  write('gcra', next, {next, next_rest, parts})
end
return {passes and 1 or 0, next - now, next_rest}
