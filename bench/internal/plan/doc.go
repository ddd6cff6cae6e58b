// Package plan defines and runs the scenarios of a bench. The implementations of a scenario
// take turns slot by slot, so that changes of the machine affect all of them.
package plan
