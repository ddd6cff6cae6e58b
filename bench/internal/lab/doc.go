// Package lab starts the servers and networks of a bench, and reads the counters of Redis
// and the load of the machine.
package lab
