//go:build race

package main

// underRace: the race detector makes the test ten times slower and changes no count.
const underRace = true
