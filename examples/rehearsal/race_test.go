//go:build race

package main

// underRace is set under the race detector, which is several times slower. Fewer tests play
// the shadow then.
const underRace = true
