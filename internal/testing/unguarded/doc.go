// Package unguarded is a negative control: it removes the guard from lockupdate's commits, so that only the
// lock protects an update. A test that finds no lost update with the guard has to find one without it.
package unguarded
