// Package helpers knows no client, but a package that does.
package helpers

import "forwards"

func all(s *forwards.Store, given string) {
	s.Do("WATCH", "k")  // want `WATCH through \(\*forwards\.Store\)\.Do.*MC103`
	s.Key("k", "multi") // want `MULTI through \(\*forwards\.Store\)\.Key.*MC103`
	s.Do("GET", "WATCH")
	s.Do(given)
}
