package sqllock

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// Dialect is the kind of a database.
type Dialect uint8

// The dialects. MySQL is MariaDB, too. By their manuals, the least versions are PostgreSQL 9.5, MySQL 5.7, MariaDB 10.0
// and SQLite 3.42. The tests run PostgreSQL 15, MariaDB 10.11 and SQLite, and no MySQL.
const (
	PostgreSQL Dialect = iota + 1
	MySQL
	SQLite
)

// String returns the dialect's name.
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "PostgreSQL"
	case MySQL:
		return "MySQL"
	case SQLite:
		return "SQLite"
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

var (
	//go:embed postgresql.sql
	postgresqlSchema string
	//go:embed mysql.sql
	mysqlSchema string
	//go:embed sqlite.sql
	sqliteSchema string
)

// Schema returns the statement that creates the table, for a tool that migrates. The package has it as a
// file, too. It changes nothing if the table exists.
func (d Dialect) Schema() string {
	return map[Dialect]string{PostgreSQL: postgresqlSchema, MySQL: mysqlSchema, SQLite: sqliteSchema}[d]
}

func (d Dialect) validate() error {
	if d.Schema() == "" {
		return fmt.Errorf("%w: %v is no dialect; use sqllock.PostgreSQL, sqllock.MySQL or sqllock.SQLite", rmw.ErrInvalid, d)
	}
	return nil
}

// statements are the statements of a dialect. Each commits by itself. Braces enclose the names of parameters;
// {now} is the time in microseconds by the database's clock.
type statements struct {
	now         string
	placeholder func(n int) string
	casts       map[string]string // PostgreSQL cannot infer all types

	// take grants the lock and returns its token as a row, or as the id of the last insert if takeByID.
	take     string
	takeByID bool
	seed     string // adds the row of a lock, if take cannot
	// renew returns the owners of the prolonged leases. In MySQL it returns their number, and renewed the owners.
	renew   string
	renewed string
	// guard returns a row, or changes one if guardWrites.
	guard       string
	guardWrites bool
}

// Statements that all dialects share.
const (
	// look shows the lock: by how much its lease is ahead of the clock, and its last renewal.
	look = `SELECT owner, token, expires - {now}, renewed - {now}, data FROM unwatch_locks WHERE name = {name}`
	// rebase begins the lease again if the clock was set back, or it would last as much longer.
	rebase  = `UPDATE unwatch_locks SET expires = {now} + (expires - renewed), renewed = {now} WHERE name = {name} AND renewed > {now}`
	release = `UPDATE unwatch_locks SET owner = '', data = NULL, renewed = {now}, expires = {now} WHERE name = {name} AND owner = {owner}`
	// A DELETE of all old rows would wait in InnoDB for each row that it looks at. So old finds them without a lock, and clean
	// deletes one by its key.
	old   = `SELECT name FROM unwatch_locks WHERE expires < {now} - {kept} LIMIT 1000`
	clean = `DELETE FROM unwatch_locks WHERE name = {name} AND expires < {now} - {kept}`
	renew = `UPDATE unwatch_locks SET renewed = {now}, expires = {now} + {expiry}
		WHERE name IN ({names}) AND owner IN ({owners}) AND expires > {now}`
	columns = `SELECT name, owner, token, taken, renewed, expires, data FROM unwatch_locks WHERE 1 = 0`
)

func (d Dialect) statements() statements {
	switch d {
	case PostgreSQL:
		return statements{
			now:         `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
			placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
			casts: map[string]string{
				"name": "bytea", "owner": "text", "data": "bytea", "expiry": "bigint", "token": "bigint", "kept": "bigint",
			},
			// FOR UPDATE excludes the FOR KEY SHARE of Guard, which a renewal does not. SKIP LOCKED: no take waits.
			take: `WITH taken AS (
				UPDATE unwatch_locks SET token = CASE WHEN owner = {owner} THEN token ELSE greatest(token + 1, {now}) END,
					taken = CASE WHEN owner = {owner} THEN taken ELSE {now} END,
					owner = {owner}, renewed = {now}, expires = {now} + {expiry}, data = {data}
				WHERE name = (SELECT name FROM unwatch_locks
					WHERE name = {name} AND (owner IN ('', {owner}) OR expires <= {now}) FOR UPDATE SKIP LOCKED)
				RETURNING token
			), made AS (
				INSERT INTO unwatch_locks (name, owner, token, taken, renewed, expires, data)
				SELECT {name}, {owner}, {now}, {now}, {now}, {now} + {expiry}, {data}
				WHERE NOT EXISTS (SELECT 1 FROM unwatch_locks WHERE name = {name})
				ON CONFLICT (name) DO NOTHING
				RETURNING token
			) SELECT token FROM taken UNION ALL SELECT token FROM made`,
			renew: renew + ` RETURNING owner`,
			guard: `SELECT 1 FROM unwatch_locks WHERE name = {name} AND owner = {owner} AND token = {token} FOR KEY SHARE`,
		}
	case MySQL:
		return statements{
			// UTC_TIMESTAMP is when the statement arrived, which SYSDATE is not. But SYSDATE is in the time zone of
			// the session, and repeats an hour each year. A lease that counts from the arrival of its statement
			// still counts from after it was sent.
			now:         `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))`,
			placeholder: func(int) string { return "?" },
			// Assignments see those to their left, unless sql_mode has SIMULTANEOUS_ASSIGNMENT.
			take: `UPDATE unwatch_locks SET token = LAST_INSERT_ID(IF(owner = {owner}, token, GREATEST(token + 1, {now}))),
					taken = IF(owner = {owner}, taken, {now}),
					owner = {owner}, renewed = {now}, expires = {now} + {expiry}, data = {data}
				WHERE name = {name} AND (owner IN ('', {owner}) OR expires <= {now})`,
			takeByID: true,
			seed: `INSERT IGNORE INTO unwatch_locks (name, owner, token, taken, renewed, expires)
				VALUES ({name}, '', 0, {now}, {now}, {now})`,
			renew: renew,
			// Changed rows are counted, and not found ones: a lease may end at this time already.
			renewed: `SELECT owner FROM unwatch_locks WHERE name IN ({names}) AND owner IN ({owners}) AND expires > {now}`,
			guard: `SELECT 1 FROM unwatch_locks FORCE INDEX (unwatch_locks_guard)
				WHERE name = {name} AND token = {token} AND owner = {owner} LOCK IN SHARE MODE`,
		}
	default: // SQLite: one writer at a time
		return statements{
			now:         `CAST(unixepoch('subsec') * 1000000 AS INTEGER)`,
			placeholder: func(n int) string { return "?" + strconv.Itoa(n) },
			take: `INSERT INTO unwatch_locks (name, owner, token, taken, renewed, expires, data)
				SELECT {name}, {owner}, {now}, {now}, {now}, {now} + {expiry}, {data}
				WHERE NOT EXISTS (SELECT 1 FROM unwatch_locks WHERE name = {name} AND owner NOT IN ('', {owner}) AND expires > {now})
				ON CONFLICT (name) DO UPDATE SET token = CASE WHEN owner = {owner} THEN token ELSE max(token + 1, {now}) END,
					taken = CASE WHEN owner = {owner} THEN taken ELSE {now} END,
					owner = {owner}, renewed = {now}, expires = {now} + {expiry}, data = {data}
				RETURNING token`,
			renew: renew + ` RETURNING owner`,
			// It excludes other writers until the end of the transaction.
			guard:       `UPDATE unwatch_locks SET owner = owner WHERE name = {name} AND owner = {owner} AND token = {token}`,
			guardWrites: true,
		}
	}
}

// params are the parameters of a statement. A []any is a list of values.
type params map[string]any

// render returns the text of a statement and its arguments.
func (s statements) render(text string, p params) (string, []any) {
	var out strings.Builder
	var args []any
	numbers := map[string]string{}
	add := func(name string, value any) string {
		args = append(args, value)
		text := s.placeholder(len(args))
		if cast := s.casts[name]; cast != "" {
			text += "::" + cast
		}
		return text
	}
	for {
		before, rest, found := strings.Cut(text, "{")
		out.WriteString(before)
		if !found {
			return out.String(), args
		}
		var name string
		name, text, _ = strings.Cut(rest, "}")
		list, isList := p[name].([]any)
		switch {
		case name == "now":
			out.WriteString(s.now)
		case isList:
			for i, value := range list {
				if i > 0 {
					out.WriteString(", ")
				}
				out.WriteString(add(strings.TrimSuffix(name, "s"), value))
			}
		case numbers[name] != "":
			out.WriteString(numbers[name])
		default:
			placeholder := add(name, p[name])
			out.WriteString(placeholder)
			if placeholder != "?" { // or it cannot be repeated
				numbers[name] = placeholder
			}
		}
	}
}
