// Package operate is for the operator of a cut-over, as package cutover is for the services whose keys
// move. The command migrate-check cutover is made of it, and [docs/cutover.md] is its runbook.
//
// A cut-over by a program has these steps. Each function takes a [cutover.Store] with its own clients of both
// stores, or the two Stores of its Sides:
//
//   - [Preflight] returns the conditions for the first move.
//   - [Publish] changes the stage that each process polls. It needs the gates of Preflight for the first Copying,
//     and those of [Ready] for Complete.
//   - [Sweep] moves the keys that no process updates. Call [CheckStores] before it in a process that has not
//     called Preflight.
//   - [Verify] looks at each key in both stores.
//   - [Ready] judges the [Census] of the processes, the passes and the reports.
//
// [docs/cutover.md]: https://github.com/unwatch/unwatch/blob/main/docs/cutover.md
package operate
