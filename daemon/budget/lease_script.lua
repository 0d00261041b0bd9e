-- Leases the rate of budgets to the hosts that share them. A host asks several times in a lease.
--
-- KEYS  a hash for each budget
-- ARGV  host, then for each budget:
--       serial    of this request; grows as long as the host keeps its name
--       ack       serial of the newest grant that is in force at the host and has replaced all older ones; 0: none
--       epoch     of the last reply; "-": none
--       aged      an event of that epoch that is longer ago than aged_for; 0: none
--       aged_for  microseconds
--       want      bit/s
--       terms     rate:floor:hosts:lease in bit/s, bit/s, the most hosts, microseconds
-- Returns a line for each budget: epoch event serial grant why share used live longest agreed
--
-- Each request is an event and has a number. The hash holds "@budget" = version, server, epoch, event, learning;
-- and of each host a record: event, usage, want, rate, floor, hosts, lease, serial, last, most. `last` is the
-- newest grant, `most` the largest of the older ones that the host may still use, `usage` the larger of the two. A
-- host without a record is at its floor: hosts × floor is kept free for all. Records are packed doubles: text takes
-- twice the time.
--
-- No clock is read for safety, so no jump of one harms. For the host a grant ends one lease after it asked. Some
-- host has had the reply of the same event or of a later one, and more than a lease later it says that this event
-- is aged: then the grant has ended. However late or often a request comes, what it proves stays true.

local match, floor_of, min, max = string.match, math.floor, math.min, math.max
local pack, unpack_record = struct.pack, struct.unpack
local host = ARGV[1]

-- Changes with the server's process and with its role. What another one wrote may be an old copy.
local server = match(redis.call('INFO', 'replication'), 'master_replid:(%x+)')
if not server then return redis.error_reply('ERR INFO replication has no master_replid') end
if #ARGV ~= 1 + 7 * #KEYS then return redis.error_reply('ERR a budget takes 7 arguments') end

local function digits(number) return string.format('%.0f', number) end

-- What was granted before is unknown: nothing above the floor is, until the first event of the new epoch is aged.
local function new_epoch(key, serial)
  redis.call('DEL', key)
  local time = redis.call('TIME')
  return time[1] .. '.' .. time[2] .. '-' .. serial
end

-- Max-min fairness: the level at which all wants are cut off, so that together they fill the capacity.
local function level_of(wants, capacity)
  local above, level = #wants, capacity / #wants
  while true do
    local left, still_above = capacity, 0
    for number = 1, #wants do
      local want = wants[number]
      if want > level then still_above = still_above + 1 else left = left - want end
    end
    if still_above == 0 then return math.huge end
    if still_above == above then return floor_of(level) end
    above, level = still_above, left / still_above
  end
end

local function forget(key, gone)
  local fields = redis.call('HGETALL', key)
  for name = 1, #fields, 2 do
    if gone[fields[name + 1]] then redis.call('HDEL', key, fields[name]) end
  end
end

local function ask(key, serial, ack, epoch, aged, aged_for, want, terms)
  local own_rate, own_floor, own_hosts, own_lease = match(terms, '^(%d+):(%d+):(%d+):(%d+)$')
  own_rate, own_floor = tonumber(own_rate), tonumber(own_floor)
  own_hosts, own_lease = tonumber(own_hosts), tonumber(own_lease)

  local budget, mine = unpack(redis.call('HMGET', key, '@budget', host))
  local its_server, its_epoch, event, learning = match(budget or '', '^1 (%x+) (%S+) (%d+) ([01])$')
  if its_server ~= server then
    its_epoch, event, learning, mine = new_epoch(key, serial), 0, '1', false
  end
  if epoch ~= its_epoch then aged = 0 end

  -- The others. Where terms differ, the strictest hold. Who has not asked since an aged event has only its floor.
  local usages, wants, gone = {}, {}, nil
  local rate, floor, hosts, longest, agreed = own_rate, own_floor, own_hosts, own_lease, 1
  local records = redis.call('HVALS', key)
  for number = 1, #records do
    local record = records[number]
    if record ~= mine and record ~= budget then
      local its_event, usage, its_want, its_rate, its_floor, its_hosts, its_lease =
        unpack_record('<ddddddd', record)
      if its_event <= aged and its_lease <= aged_for then
        gone = gone or {}
        gone[record] = true  -- no two are the same, for each event is of one host
      else
        usages[#usages + 1], wants[#wants + 1] = usage, its_want
        if its_rate ~= rate or its_floor ~= floor or its_hosts ~= hosts or its_lease ~= longest then
          rate, floor, agreed = min(rate, its_rate), max(floor, its_floor), 0
          hosts, longest = max(hosts, its_hosts), max(longest, its_lease)
        end
      end
    end
  end

  -- What this host may still use of former grants.
  local most = 0
  if mine then
    local its_event, _, _, _, _, _, its_lease, its_serial, its_last, its_most = unpack_record('<dddddddddd', mine)
    if serial <= its_serial then
      return its_epoch .. ' ' .. event .. ' ' .. digits(serial) .. ' 0 old 0 0 0 0 0'
    end
    if its_event > aged or its_lease > aged_for then
      most = its_last
      if ack ~= its_serial then most = max(most, its_most) end
    end
  end
  event = event + 1
  if aged > 0 and aged_for >= longest then learning = '0' end

  local has_part = mine or #usages < hosts
  local live = #usages + (has_part and 1 or 0)
  local reserved = max(0, hosts - live) * floor
  local used = reserved
  for number = 1, #usages do
    used = used + max(usages[number], floor)
    wants[number] = max(wants[number], floor)
  end
  wants[#wants + 1] = max(want, floor)
  local share = min(wants[#wants], level_of(wants, rate - reserved))

  local grant, why = share, share < want and 'share' or 'want'
  if rate - used < grant then grant, why = rate - used, 'others' end
  if learning == '1' then grant, why = 0, 'learning' end
  if not has_part then grant, why = 0, 'hosts' end
  grant = max(grant, own_floor)

  local state = '1 ' .. server .. ' ' .. its_epoch .. ' ' .. digits(event) .. ' ' .. learning
  if gone then forget(key, gone) end
  if has_part then
    local usage = max(grant, most)
    redis.call('HSET', key, '@budget', state, host, pack('<dddddddddd', event, usage, want,
      own_rate, own_floor, own_hosts, own_lease, serial, grant, most))
    used = used + max(usage, floor)
  else
    redis.call('HSET', key, '@budget', state)
  end
  redis.call('PEXPIRE', key, digits(max(60000, 10 * longest / 1000)))
  return table.concat({its_epoch, digits(event), digits(serial), digits(grant), why, digits(share), digits(used),
    live, digits(longest), agreed}, ' ')
end

local replies = {}
for number = 1, #KEYS do
  local at = 7 * number - 5
  replies[number] = ask(KEYS[number], tonumber(ARGV[at]), tonumber(ARGV[at + 1]), ARGV[at + 2],
    tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5]), ARGV[at + 6])
end
return replies
