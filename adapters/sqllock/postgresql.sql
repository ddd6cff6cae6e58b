-- Locks of github.com/unwatch/unwatch/adapters/sqllock. Times are microseconds since 1970, by the clock of
-- the database.
CREATE TABLE IF NOT EXISTS unwatch_locks (
	name    bytea  PRIMARY KEY, -- of the lock; longer than 255 bytes: the first 224 and a SHA-256
	owner   text   NOT NULL,    -- of the holding; '': the lock is free
	token   bigint NOT NULL,    -- the fencing token of the last grant
	taken   bigint NOT NULL,    -- when it was granted
	renewed bigint NOT NULL,    -- when the lease was granted, renewed or released
	expires bigint NOT NULL,    -- when the lease ends
	data    bytea               -- for operators; see lock.WithData
) WITH (fillfactor = 50)        -- room for the next versions of a row, so that a renewal changes no index
