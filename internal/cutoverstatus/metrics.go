package cutoverstatus

import (
	"io"

	"github.com/unwatch/unwatch/internal/exposition"
)

// WriteMetrics writes the status in the text format of Prometheus. A metric of an unknown figure has no
// series. Labels are names of processes and fixed words, never keys.
func (s Status) WriteMetrics(w io.Writer) error {
	var families []*exposition.Family
	add := func(name, kind, labels, help string) *exposition.Family {
		f := &exposition.Family{Name: name, Kind: kind, Labels: labels, Help: help}
		families = append(families, f)
		return f
	}
	if k := s.Keys; k != nil {
		keys := add("cutover_keys", exposition.Gauge, "state", "Keys by state, estimated from some keys at random.")
		keys.Add(k.Old, "old")
		keys.Add(k.New, "new")
		keys.Add(k.Transit, "transit")
		keys.Add(k.Stay, "stay")
		keys.Add(k.TwoHomes, "two_homes")
		keys.Add(k.Unmarked, "marker_lost")
		keys.Add(max(k.Wrong-k.TwoHomes-k.Unmarked, 0), "other_wrong")
		add("cutover_transit_keys", exposition.Gauge, "", "Keys in transit, estimated from some keys at random.").Add(k.Transit)
		add("cutover_transit_oldest_seconds", exposition.Gauge, "",
			"Age of the oldest key in transit among those looked at.").Least(k.Oldest.Seconds())
	}
	if s.Verify != nil {
		add("cutover_verify_wrong_keys", exposition.Gauge, "",
			"Keys in a wrong state, by the last recorded verify.").Add(int64(s.Verify.Wrong))
	}
	stage := add("cutover_stage", exposition.Gauge, "process",
		"Epoch of the stage that a process has seen; without a process, the published one.")
	if s.Asked != "" {
		stage.Add(int64(s.Stage.Epoch), "")
	}
	age := add("cutover_stage_age_seconds", exposition.Gauge, "process", "Age of the last heartbeat of a process.")
	failing := add("cutover_process_failing", exposition.Gauge, "process", "1 if a process cannot read the stage from a store.")
	moves := add("cutover_moves_total", exposition.Counter, "process",
		"Batches of keys that a process has moved; a key of an update is a batch.")
	pause := add("cutover_pause_seconds", exposition.Gauge, "process quantile",
		"Time from sending the seals of a batch to the replies of its fills.")
	for _, one := range s.Processes {
		stage.Least(float64(one.Epoch), one.Name)
		age.Least(s.At.Sub(one.At).Seconds(), one.Name)
		failing.Flag(one.Error != "", one.Name)
		moves.Add(int64(one.Pause.Batches), one.Name)
		if one.Pause.Batches > 0 {
			pause.Least(one.Pause.P50.Seconds(), one.Name, "0.5")
			pause.Least(one.Pause.P99.Seconds(), one.Name, "0.99")
			pause.Least(one.Pause.Max.Seconds(), one.Name, "1")
		}
	}
	swept := add("cutover_sweep_keys_total", exposition.Counter, "result", "Names that sweeps have visited, and keys that they have moved.")
	swept.Add(s.Visited, "visited")
	swept.Add(s.Swept, "moved")
	add("cutover_old_store_replid_changes_total", exposition.Counter, "",
		"Changes of the replication ID of the old store.").Add(int64(s.ReplidChanges))
	down := add("cutover_store_down", exposition.Gauge, "store", "1 if a store does not answer this command.")
	for _, one := range s.Stores {
		down.Flag(one.Down != "", one.Side)
	}
	return exposition.Write(w, families...)
}
