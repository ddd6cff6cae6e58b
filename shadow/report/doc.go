// Package report is what a shadow has found, as one model: how often both paths were
// compared, where they differed, what was not compared and why, how fast each of them
// was, and whether that is enough to cut over.
//
// A [Report] is plain data. It has a version ([Schema]) as JSON, reports of many
// processes add up ([Merge]), and [Report.Judge] makes a [Verdict] of it: ready, not
// ready because, or not enough data yet. The same Report is shown as a page
// ([Report.WriteHTML]), as text for a terminal or a test's log ([Report.WriteText]),
// as metrics for a monitoring ([Report.WriteMetrics]), and as JSON.
//
// It holds no value of a user: what was captured is redacted before it comes here, and
// no verdict is made of what was redacted or cut short.
package report
