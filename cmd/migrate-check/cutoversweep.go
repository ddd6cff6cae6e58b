package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/cutoverstatus"
	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/rmw"
)

// store opens a Store of the cut-over. close closes it, and not the Stores of its sides.
func (f *cutoverFlags) store(s cutoverStores) (store *cutover.Store, close func() error) {
	source := cutover.FromKey(f.name, s.old, s.new)
	store = f.storeAt(s, cutover.Config{Stage: source})
	return store, func() error { return errors.Join(store.Close(), source.Close()) }
}

func (f *cutoverFlags) storeAt(s cutoverStores, cfg cutover.Config) *cutover.Store {
	cfg.MaxSeal, cfg.Replicas, cfg.NewReplicas = f.maxSeal, f.replicas, f.newReplicas
	return cutover.New(
		cutover.Side{Store: s.old, Redis: s.clients[0]}, cutover.Side{Store: s.new, Redis: s.clients[1]}, cfg)
}

// sweepers is the census of the sweeps that this command runs. They are no processes of the service,
// so an advance does not wait for them.
func sweepers(name string) string { return name + ":sweep" }

// sweeper opens a Store that shows its Sweep to status.
func (f *cutoverFlags) sweeper(s cutoverStores) (store *cutover.Store, close func() error, err error) {
	source := cutover.FromKey(f.name, s.old, s.new)
	heartbeat, err := cutover.StartHeartbeat(sweepers(f.name), s.old, source)
	if err != nil {
		return nil, nil, errors.Join(err, source.Close())
	}
	store = f.storeAt(s, cutover.Config{Stage: source, Heartbeat: heartbeat})
	return store, func() error { return errors.Join(store.Close(), heartbeat.Close(), source.Close()) }, nil
}

func (f *cutoverFlags) walkConfig(s cutoverStores) operate.SweepConfig {
	cfg := operate.SweepConfig{
		Proxies: commands(s.proxies[0]), NewProxies: commands(s.proxies[1]),
		Keys: f.choose(), Foreign: f.others(), Batch: f.batch, Rate: f.rate,
		MaxLatency: f.maxLatency, MaxOutage: f.maxOutage,
	}
	if f.json {
		cfg.Names = -1
	}
	if f.maxOutage == 0 {
		cfg.MaxOutage = -1
	}
	for _, master := range s.masters[0] {
		cfg.Masters = append(cfg.Masters, master)
	}
	for _, master := range s.masters[1] {
		cfg.NewMasters = append(cfg.NewMasters, master)
	}
	return cfg
}

// walk runs one pass over the old store: sweep moves keys as the stage says, plan and verify write nothing.
func (f *cutoverFlags) walk(ctx context.Context, action string, s cutoverStores, w io.Writer) (
	code int, err error,
) {
	var store *cutover.Store
	var closeStore func() error
	if action == "sweep" {
		if store, closeStore, err = f.sweeper(s); err != nil {
			return codeError, err
		}
	} else {
		store, closeStore = f.store(s)
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	cfg := f.walkConfig(s)
	began := time.Now()
	if action == "plan" {
		return f.plan(ctx, store, s, cfg, w)
	}
	if err := operate.CheckStores(ctx, store, cfg); err != nil {
		return codeError, err
	}
	if action == "verify" {
		report, err := operate.Verify(ctx, store, cfg)
		if report.Wrong() > 0 {
			code = codeDiffers
		}
		if err == nil {
			kept := report
			kept.Cause = nil // an error has no JSON that can be read back
			few(&kept.LeftOut, &kept.Transit, &kept.TooLarge, &kept.OtherType, &kept.FieldExpiry, &kept.Missing, &kept.TwoHomes,
				&kept.Unmarked, &kept.Expiring, &kept.Forgotten, &kept.Leftover, &kept.Failed)
			err = f.record(cutoverstatus.Record{Began: began.UTC(), Took: time.Since(began), Verify: &kept})
		}
		verdict := ""
		if err == nil {
			if verdict, err = f.home(ctx, s, report); verdict != "" && verdict != allHome {
				code = codeDiffers
			}
		}
		return code, errors.Join(err, f.writeWalk(w, report, report.Scanned, verdict, []count{
			{"chosen", report.Chosen, nil},
			{"left out", report.LeftOut.Count, report.LeftOut.Names},
			{"in the old store", report.Open, nil},
			{"moved, equal to the marker's value", report.Equal, nil},
			{"moved, changed since", report.ChangedSince, nil},
			{"of these, absent now", report.Missing.Count, report.Missing.Names},
			{"in transit", report.Transit.Count, report.Transit.Names},
			{"too large", report.TooLarge.Count, report.TooLarge.Names},
			{"of another type", report.OtherType.Count, report.OtherType.Names},
			{"hash with field expiries", report.FieldExpiry.Count, report.FieldExpiry.Names},
			{"markers left over in the new store", report.Leftover.Count, report.Leftover.Names},
			{"WRONG: two homes", report.TwoHomes.Count, report.TwoHomes.Names},
			{"WRONG: no marker in the old store", report.Unmarked.Count, report.Unmarked.Names},
			{"WRONG: marker with an expiry", report.Expiring.Count, report.Expiring.Names},
			{"WRONG: forgotten by a store", report.Forgotten.Count, report.Forgotten.Names},
			{"WRONG: no answer", report.Failed.Count, report.Failed.Names},
		}))
	}
	pass, err := operate.Sweep(ctx, store, cfg)
	if pass.Stay()+pass.Failed.Count > 0 {
		code = codeDiffers
	}
	if err == nil {
		kept := pass
		few(&kept.LeftOut, &kept.TooLarge, &kept.OtherType, &kept.FieldExpiry, &kept.Refused, &kept.Failed)
		err = f.record(cutoverstatus.Record{Began: began.UTC(), Took: time.Since(began), Pass: &kept})
	}
	verdict := ""
	if err == nil && pass.Moved+pass.Completed+pass.Freed > 0 {
		verdict = "This pass moved keys: sweep again until a pass moves none, then verify"
	}
	return code, errors.Join(err, f.writeWalk(w, pass, pass.Scanned, verdict, []count{
		{"chosen", pass.Chosen, nil},
		{"left out", pass.LeftOut.Count, pass.LeftOut.Names},
		{"moved", pass.Moved, nil},
		{"where the stage wants them", pass.There, nil},
		{"that the stage does not move", pass.Kept, nil},
		{"found on their way, completed", pass.Completed, nil},
		{"deleted or expired meanwhile", pass.Gone, nil},
		{"markers removed from the new store", pass.Freed, nil},
		{"STAY: too large", pass.TooLarge.Count, pass.TooLarge.Names},
		{"STAY: of another type", pass.OtherType.Count, pass.OtherType.Names},
		{"STAY: hash with field expiries", pass.FieldExpiry.Count, pass.FieldExpiry.Names},
		{"STAY: another value in the new store", pass.Refused.Count, pass.Refused.Names},
		{"FAILED: no answer", pass.Failed.Count, pass.Failed.Names},
	}))
}

const allHome = "Every key is in the old store"

// home says whether a way back has ended; "" at another stage.
func (f *cutoverFlags) home(ctx context.Context, s cutoverStores, report operate.Report) (string, error) {
	stage, err := cutover.Current(ctx, f.name, s.old, s.new)
	switch {
	case err != nil || stage.Phase != cutover.Reverse:
		return "", err
	case report.AtOld():
		return allHome, nil
	case stage.Freeze:
		return "Not every key is in the old store, and the stage is frozen: freeze -off, sweep, and verify again", nil
	case report.Equal+report.ChangedSince+report.Transit.Count > 0:
		return fmt.Sprintf("Not every key is in the old store: %s moved or in transit; sweep again, and verify",
			wrap.Counted(report.Equal+report.ChangedSince+report.Transit.Count, "key")), nil
	case report.Wrong() > 0:
		return "Not every key is in the old store: repair the WRONG ones, and verify again", nil
	}
	return "Not every key was looked at: name all servers of the new store in -new-masters, and other services' keys in -foreign", nil
}

// fewNames is how many names a record and a text have of each list.
const fewNames = 10

// few cuts the names of a record.
func few(lists ...*operate.Keys) {
	for _, keys := range lists {
		keys.Names = keys.Names[:min(len(keys.Names), fewNames)]
	}
}

// count is a row of the result of a pass.
type count struct {
	what  string
	n     int
	names []string
}

func (f *cutoverFlags) writeWalk(w io.Writer, result any, scanned operate.Scanned, verdict string, counts []count) error {
	if f.json {
		return encode(w, result)
	}
	table := wrap.NewTable("keys", "#count")
	if scanned.Outages > 0 {
		lasted := scanned.Outage.Round(time.Millisecond)
		counts = append(counts, count{fmt.Sprintf("times that a store was away, for %v", lasted), scanned.Outages, nil})
	}
	for _, c := range counts {
		table.Row(c.what, int64(c.n))
	}
	for i, line := range slices.Collect(strings.Lines(table.String())) {
		say(w, "%s", line)
		if i > 0 {
			sayNames(w, counts[i-1].n, counts[i-1].names)
		}
	}
	if verdict != "" {
		say(w, "%s", wrapped(verdict))
	}
	return nil
}

// sayNames writes the first names of n keys, each whole and on a line of its own.
func sayNames(w io.Writer, n int, names []string) {
	names = names[:min(len(names), fewNames)]
	for _, name := range names {
		say(w, "    %s\n", wrap.Line(name))
	}
	if more := n - len(names); more > 0 && len(names) > 0 {
		say(w, "    and %s more: -json names them\n", wrap.Grouped(int64(more)))
	}
}

// choose returns the function that -keys describes; nil chooses every key but those of locks.
func (f *cutoverFlags) choose() func(name string) (rmw.Key, bool) {
	if f.keys == "" {
		return nil
	}
	return func(name string) (rmw.Key, bool) {
		for one := range strings.SplitSeq(f.keys, ",") {
			pattern, label, _ := strings.Cut(one, "=")
			if ok, _ := path.Match(pattern, name); ok {
				return rmw.Key{Name: name, Label: label}, true
			}
		}
		return rmw.Key{}, false
	}
}

// others returns the function that -foreign describes, or nil.
func (f *cutoverFlags) others() func(name string) bool {
	if f.foreign == "" {
		return nil
	}
	return func(name string) bool {
		for pattern := range strings.SplitSeq(f.foreign, ",") {
			if ok, _ := path.Match(pattern, name); ok {
				return true
			}
		}
		return false
	}
}

// walks says whether the action visits keys.
func (f *cutoverFlags) walks(action string) bool {
	return action == "plan" || action == "sweep" || action == "verify"
}

// checkWalk checks the flags of plan, sweep and verify.
func (f *cutoverFlags) checkWalk(action string) error {
	walks := f.walks(action)
	switch {
	case !walks && (f.set["batch"] || f.set["rate"] || f.set["max-latency"] || f.set["max-seal"] || f.set["max-outage"]):
		return errors.New("-batch, -rate, -max-latency, -max-outage and -max-seal are for plan, sweep and verify")
	case !walks && action != "status" && action != "advance" && f.keys+f.foreign != "":
		return errors.New("-keys and -foreign are for plan, advance, sweep, verify and status")
	case !walks && action != "advance" && f.newMasters != "":
		return errors.New("-new-masters is for plan, advance, sweep and verify")
	case !walks && action != "advance" && action != "status" && f.oldMasters != "":
		return errors.New("-old-masters is for plan, advance, sweep, verify and status")
	case action != "plan" && f.set["monitor"]:
		return errors.New("-monitor is for plan")
	case f.monitorForce && f.monitor == 0:
		return errors.New("-monitor-force is for plan with -monitor")
	case f.monitor < 0 || f.maxLatency < 0 || f.maxOutage < 0:
		return errors.New("-monitor, -max-latency and -max-outage must not be negative")
	case walks && f.dryRun:
		return errors.New("-dry-run is for advance, freeze, reverse and repair; verify writes nothing")
	}
	for flag, patterns := range map[string]string{"keys": f.keys, "foreign": f.foreign} {
		for one := range strings.SplitSeq(patterns, ",") {
			pattern, _, _ := strings.Cut(one, "=")
			if _, err := path.Match(pattern, ""); err != nil {
				return fmt.Errorf("-%s: the pattern %q is malformed", flag, pattern)
			}
		}
	}
	return nil
}
