// Package unguarded is a negative control: it takes the guard away from the commits of
// package lockupdate, so that only the lock protects an update. Then a test that finds
// no lost update with the guard has to find one without it.
package unguarded
