// Package report turns results into tables and plots, and compares them with the targets.
package report
