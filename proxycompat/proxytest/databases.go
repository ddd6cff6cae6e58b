package proxytest

import "strconv"

// databases is the number of databases, unless the proxy has only one.
const databases = 16

// entry is a key of a database.
type entry struct{ database, key string }

// everyDatabase selects each database of the server on a new link and calls f. It stops at the first number
// that the server rejects.
func (l *link) everyDatabase(f func(database string) error) error {
	for n := range databases {
		database := strconv.Itoa(n)
		if n > 0 {
			reply, err := l.do([]string{"SELECT", database})
			if err != nil {
				return err
			}
			if _, bad := reply.ErrorText(); bad {
				return nil
			}
		}
		if err := f(database); err != nil {
			return err
		}
	}
	return nil
}

// keys lists the keys of the selected database.
func (l *link) keys() ([]string, error) {
	reply, err := l.do([]string{"KEYS", "*"})
	if err != nil {
		return nil, err
	}
	return texts(nil, reply)
}
