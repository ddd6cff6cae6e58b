-- Ask whether a transaction was executed whose reply was lost, and see to it that it is not executed later.
--
-- KEYS[1]  the key of the decision, which the transaction watches
-- ARGV[1]  the id of the update
-- ARGV[2]  how long the answer is kept, in milliseconds
--
-- Returns 1 if it was executed, else 0.
if redis.replicate_commands then
  redis.replicate_commands() -- Redis before 5 repeats the script at a restart, and starts the expiry anew
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return 1
end
redis.call('SET', KEYS[1], 'aborted', 'PX', ARGV[2])
return 0
