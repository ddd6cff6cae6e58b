package proxytest

import "strconv"

// databases is how many a client can select, unless the proxy has one alone.
const databases = 16

// entry is a key of a database.
type entry struct{ database, key string }

// everyDatabase calls f for each database of the server of a new link, which is selected
// meanwhile. A server that refuses a number has no more.
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

// keys lists the keys of the database that is selected.
func (l *link) keys() ([]string, error) {
	reply, err := l.do([]string{"KEYS", "*"})
	if err != nil {
		return nil, err
	}
	return texts(nil, reply)
}
