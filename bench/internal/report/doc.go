// Package report turns results into Markdown tables.
package report
