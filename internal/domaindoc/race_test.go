//go:build race

package main

// underRace: the detector makes everything ten times slower, and looks at the code, not
// at how often it runs.
const underRace = true
