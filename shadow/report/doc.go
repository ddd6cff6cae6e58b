// Package report holds the findings of a shadow: how often both paths were compared, where they
// differed, which calls were not compared and why, the latencies of both paths, and whether the
// evidence is enough for a cut-over.
//
// A [Report] is plain data. Its JSON has a version ([Schema]). [Merge] adds up the reports of
// many processes. [Report.Judge] returns a [Verdict]: ready, not ready because, or not enough
// data yet. A Report can be written as a page ([Report.WriteHTML]), as text for a terminal or a
// test's log ([Report.WriteText]), as metrics ([Report.WriteMetrics]), and as JSON.
//
// A Report holds no value of a user: the shadow redacts samples when it captures them. The
// shadow compares values before it redacts or shortens them.
package report
