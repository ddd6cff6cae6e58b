-- Ask for the decision of an update of several keys. A script, since a proxy may send HGET to a replica that is behind.
--
-- KEYS[1]  the decisions, a hash
-- ARGV[1]  the id of the update
-- ARGV[2]  the record to make if there is no decision, or ''
--
-- Returns the record, or nil; 1 if the record was made now.
if ARGV[2] ~= '' then
  local made = redis.pcall('HSETNX', KEYS[1], ARGV[1], ARGV[2])
  if made ~= 0 then
    return made
  end
end
return redis.pcall('HGET', KEYS[1], ARGV[1])
