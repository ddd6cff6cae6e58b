// Package lab has the servers and networks that a bench measures on, and the
// instruments: what Redis counts, and what else the machine is doing.
package lab
