-- List the members of a set, or the fields and values of a hash. A script, since a proxy may send SMEMBERS or HGETALL to
-- a replica that is behind.
--
-- KEYS[1]  the set or hash
--
-- Returns the list, empty if there is none.
local members = redis.pcall('SMEMBERS', KEYS[1])
if members.err and string.find(members.err, 'WRONGTYPE', 1, true) then
  return redis.pcall('HGETALL', KEYS[1])
end
return members
