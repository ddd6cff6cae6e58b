// Package stats has the little arithmetic that the reports need.
package stats
