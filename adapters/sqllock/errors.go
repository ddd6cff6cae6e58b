package sqllock

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/rmw"
)

// errBusy means that the statement was not executed and may be sent again.
var errBusy = fmt.Errorf("%w: the database was busy", rmw.ErrContended)

// explanations map an error of the database to its reason and its remedy. The codes are SQLSTATEs, numbers of
// MySQL, and texts of SQLite.
func explanations() []struct {
	reason error
	codes  []string
} {
	say := func(reason error, text string) error { return fmt.Errorf("%w: %s", reason, text) }
	return []struct {
		reason error
		codes  []string
	}{
		{errBusy, []string{
			"40001", "40P01", "55P03", "1213", "1205", "3572",
			"SQLITE_BUSY", "SQLITE_LOCKED", "database is locked", "database table is locked",
		}},
		{
			say(rmw.ErrInvalid, "the database has no table unwatch_locks; call sqllock.Migrate, or execute the .sql file of its dialect"),
			[]string{"42P01", "1146", "no such table"},
		},
		{
			say(rmw.ErrInvalid, "the table unwatch_locks is not the one of this version of sqllock; "+
				"drop it while no lock is held, and call sqllock.Migrate"),
			[]string{"42703", "42804", "42883", "42P10", "1054", "1176", "no such column", "has no column"},
		},
		{say(rmw.ErrUnavailable, "the database is read-only; connect to the primary, with a user that may write"),
			[]string{"25006", "1290", "1792", "1836", "SQLITE_READONLY", "readonly database"}},
		{say(rmw.ErrInvalid, "the user of the database needs SELECT, INSERT, UPDATE and DELETE on the table unwatch_locks"),
			[]string{"42501", "1142", "1143"}},
		{say(rmw.ErrClosed, "the *sql.DB was closed; close the Locker first"), []string{"sql: database is closed"}},
	}
}

var mysqlError = regexp.MustCompile(`^Error (\d+)`)

// explain adds the explanation to an error of the database. It reads the SQLSTATE, or the text of the error: this
// package imports no driver.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var state interface{ SQLState() string }
	code, isState := "", errors.As(err, &state)
	if isState {
		code = state.SQLState()
	} else if found := mysqlError.FindStringSubmatch(err.Error()); found != nil {
		code = found[1]
	}
	for _, e := range explanations() {
		for _, c := range e.codes {
			if c == code || code == "" && strings.Contains(err.Error(), c) && !isNumber(c) {
				return &rmw.Error{Path: pkg, Reason: e.reason, Cause: err}
			}
		}
	}
	return err
}

// isNumber reports whether a code is one that a text may contain by accident.
func isNumber(code string) bool { return code[0] >= '0' && code[0] <= '9' }
