// Package openfeature takes the stage of a cut-over from a feature flag, through the SDK of OpenFeature.
//
//	stage := openfeature.New(ctx, client, "move-rooms")
//	store := cutover.New(before, after, cutover.Config{Stage: stage})
//
// The flag is an object. Only "stage" is required:
//
//	{"stage": "copying", "percent": 5, "labels": ["room"], "freeze": false}
//
// # The flag is a wish
//
// The markers in the keys say where each key is. A flag that flaps, or that differs between processes,
// makes them slower, and loses no update. An outage of the flag system keeps the last stage. A process that
// starts during an outage is at follow: it finds keys that have moved.
//
// The stage complete is refused, because processes at another stage would lose keys. To complete a cut-over,
// deploy all processes with [cutover.FromKey] instead of the flag, in any order, and publish the stages
// there. Start a [cutover.Heartbeat] beside the flag. It reports epoch 0, so [cutover.Ready] and
// migrate-check cutover refuse the advance while a process with a flag runs.
//
// migrate-check cutover knows the published stage, and no flag. With a flag, call the Sweep of the Store.
//
// # Why not one evaluation for each key
//
// The flag has one value for all keys, and "percent" chooses among them by a hash of their names: a chosen
// key stays chosen as the percentage grows, in every process. An evaluation with the key's name as its
// targeting key would be a call to some providers for each update and for each key of a sweep.
package openfeature
