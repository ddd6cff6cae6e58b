// Package plan says what a bench measures, and measures it: slot by slot, all
// implementations of a scenario in turn, so that what the machine does meanwhile
// hits all of them.
package plan
