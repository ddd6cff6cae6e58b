// Package state keeps state in package variables.
package state

import (
	"maps"
	"time"
)

var events = make(chan int)

var declared, second chan<- struct{}

var ticker = time.NewTicker(time.Second)

var started = func() bool { go serve(); return true }()

var counts = make(map[string]int)

var (
	names  = map[string]string{}
	copied map[string]string
	asked  map[string]bool
)

// None of these is a finding.
var (
	table = map[string]int{"a": 1}
	later = func() { go serve(); time.AfterFunc(0, serve) }
)

func init() { counts["init"]++ }

func serve() {
	names["a"] = "b"
	delete(asked, "a")
	maps.Copy(copied, names)
	local := map[string]int{}
	local["a"] = table["a"]
}
