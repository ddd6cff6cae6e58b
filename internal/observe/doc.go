// Package observe is the common part of observe/promunwatch and observe/otelunwatch: the metrics, their
// attributes, and when each is recorded. A module that exports metrics gives it an [Open], which
// returns a series of a metric.
//
// Attributes are the path, the lock service, the operation and the reason of an error. All but the
// operation are from closed lists; a [budget] bounds the operations. No attribute is ever the name of
// a key or of a lock.
package observe
