// Package report turns results into tables, plots and a verdict on the targets.
package report
