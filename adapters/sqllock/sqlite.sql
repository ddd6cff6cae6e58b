-- Locks of github.com/unwatch/unwatch/adapters/sqllock. Times are microseconds since 1970, by the clock of
-- the database.
CREATE TABLE IF NOT EXISTS unwatch_locks (
	name    BLOB    NOT NULL PRIMARY KEY, -- of the lock; longer than 255 bytes: the first 224 and a SHA-256
	owner   TEXT    NOT NULL, -- of the holding; '': the lock is free
	token   INTEGER NOT NULL, -- the fencing token of the last grant
	taken   INTEGER NOT NULL, -- when it was granted
	renewed INTEGER NOT NULL, -- when the lease was granted, renewed or released
	expires INTEGER NOT NULL, -- when the lease ends
	data    BLOB              -- for operators; see lock.WithData
) STRICT, WITHOUT ROWID
