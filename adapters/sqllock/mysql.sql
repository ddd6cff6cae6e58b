-- Locks of github.com/unwatch/unwatch/adapters/sqllock. Times are microseconds since 1970, by the clock of
-- the database.
CREATE TABLE IF NOT EXISTS unwatch_locks (
	name    VARBINARY(256) NOT NULL PRIMARY KEY, -- of the lock; longer than 255 bytes: the first 224 and a SHA-256
	owner   VARBINARY(64)  NOT NULL, -- of the holding; '': the lock is free
	token   BIGINT         NOT NULL, -- the fencing token of the last grant
	taken   BIGINT         NOT NULL, -- when it was granted
	renewed BIGINT         NOT NULL, -- when the lease was granted, renewed or released
	expires BIGINT         NOT NULL, -- when the lease ends
	data    BLOB,                    -- for operators; see lock.WithData
	-- Guard locks an entry of this index and not the row, so that a renewal need not wait for the transaction.
	UNIQUE KEY unwatch_locks_guard (name, token, owner)
) ENGINE = InnoDB
