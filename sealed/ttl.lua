-- Ask for the expiry of a key that may be sealed, together with its type: a seal has no expiry.
--
-- KEYS[1]  the data key
--
-- Returns {TYPE, PTTL}.
return {redis.call('TYPE', KEYS[1]).ok, redis.call('PTTL', KEYS[1])}
