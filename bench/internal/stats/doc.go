// Package stats has the arithmetic of the reports.
package stats
