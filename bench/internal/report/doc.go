// Package report turns results into Markdown tables, and into lines for benchstat.
package report
