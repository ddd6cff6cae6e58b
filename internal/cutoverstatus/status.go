// Package cutoverstatus shows an operator where a cut-over is, as text and as a page.
package cutoverstatus

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/internal/wrap"
)

// Facts are the readings from which [New] makes a [Status].
type Facts struct {
	Name          string
	Now           time.Time
	Present, Next cutover.Stage
	Gates         []operate.Gate // of Next
	Census        []operate.Process
	Sweepers      []operate.Process // of sweeps by the command
	Names         int64             // in the old store
	Sample        *operate.Report   // of some names of the old store; nil: none
	SampleError   string            // why there is none
	Records       []Record          // the latest one last
	Stores        []Store
	ReplidChanges int // of the old store, that the command has seen
}

// Store says whether a store answers.
type Store struct {
	Side string `json:"side"`
	Down string `json:"down,omitempty"` // why it does not answer
	Lost bool   `json:"lost,omitempty"` // it has no stage document
}

// Record is the result of a sweep or of a verify. One of Pass and Verify is set.
type Record struct {
	Began time.Time     `json:"began,omitzero"`
	Took  time.Duration `json:"took,omitempty"`
	*operate.Pass
	Verify *operate.Report `json:"verify,omitempty"`
}

// Status answers an operator's questions. Each figure is of the time At, unless it says otherwise.
type Status struct {
	Name    string        `json:"name"`
	At      time.Time     `json:"at"`
	Verdict Verdict       `json:"verdict"`
	Stage   cutover.Stage `json:"present"`
	// Asked is the aim of the stage, and NotYet says why it is not reached.
	Asked  string   `json:"asked"`
	NotYet []string `json:"notYet,omitempty"`
	// Keys, Sweep and Verify are nil if they are unknown.
	Keys        *Keys   `json:"keys,omitempty"`
	KeysUnknown string  `json:"keysUnknown,omitempty"` // why no key could be looked at
	Sweep       *Sweep  `json:"sweep,omitempty"`
	Verify      *Verify `json:"verify,omitempty"`
	// Pause adds up the batches of all processes. The times are those of the slowest process.
	Pause     operate.Pause     `json:"pause"`
	Back      Back              `json:"back"`
	Processes []operate.Process `json:"processes"` // those with a problem first
	// Next is the stage after a typical advance.
	Next  cutover.Stage     `json:"next"`
	State operate.GateState `json:"state"`
	Gates []operate.Gate    `json:"gates"`
	Error string            `json:"error,omitempty"`

	Stores []Store `json:"stores,omitempty"`
	// ReplidChanges counts the changes of the old store's replication ID since the command began: a
	// failover or a restart each.
	ReplidChanges int `json:"replidChanges,omitempty"`
	// Visited and Swept count the names and the moved keys of all recorded sweeps and of those that run.
	Visited int64 `json:"visited,omitempty"`
	Swept   int64 `json:"swept,omitempty"`
}

// Keys counts the keys by their state.
type Keys struct {
	// Looked is the number of keys at which the command looked. The other numbers are estimates if
	// Estimate is set.
	Looked   int       `json:"looked"`
	Estimate bool      `json:"estimate,omitempty"`
	At       time.Time `json:"at"`
	Old      int64     `json:"old"`
	Transit  int64     `json:"transit"`
	New      int64     `json:"new"`
	// Stay counts the keys that do not move: too large, of another type, or a hash with field expiries.
	Stay int64 `json:"stay"`
	// Wrong counts the keys in a state that no move makes.
	Wrong int64 `json:"wrong"`
	// TwoHomes and Unmarked are those of Wrong with a value in both stores, and without their marker.
	TwoHomes int64 `json:"twoHomes,omitempty"`
	Unmarked int64 `json:"unmarked,omitempty"`
	// Moving names the first keys in transit that were seen, and Oldest is the age of the oldest one.
	Moving []string      `json:"moving,omitempty"`
	Oldest time.Duration `json:"oldest,omitempty"`
}

// All is the number of keys.
func (k Keys) All() int64 { return k.Old + k.Transit + k.New + k.Stay + k.Wrong }

// Sweep is the sweep that runs, or the last one that was recorded.
type Sweep struct {
	Process string        `json:"process,omitempty"` // that runs it; empty: it has ended
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"took"`
	Visited int           `json:"visited"` // names
	Moved   int           `json:"moved"`   // keys
	Rate    float64       `json:"rate"`    // names per second
	Pause   operate.Pause `json:"pause"`
	Left    time.Duration `json:"left,omitempty"`
}

// Verify is the last verify that was recorded.
type Verify struct {
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"took"`
	Keys    int           `json:"keys"`
	Wrong   int           `json:"wrong"`
	Transit int           `json:"transit"`
	Oldest  time.Duration `json:"oldest,omitempty"`
}

// Back is the way back from the present stage.
type Back struct {
	Way  string `json:"way"`
	Keys int64  `json:"keys,omitempty"` // that would move
	// Takes is an estimate from the latest sweep that moved many keys; 0: unknown.
	Takes time.Duration `json:"takes,omitempty"`
}

// New makes a Status of the facts.
func New(f Facts) Status {
	s := Status{
		Name: f.Name, At: f.Now.UTC(), Stage: f.Present, Next: f.Next, Gates: f.Gates, State: Worst(f.Gates),
		Processes: slices.Clone(f.Census), Keys: f.keys(), KeysUnknown: f.SampleError,
		Stores: f.Stores, ReplidChanges: f.ReplidChanges,
	}
	for _, one := range f.sweeps() {
		s.Sweep = one
		s.Visited, s.Swept = s.Visited+int64(one.Visited), s.Swept+int64(one.Moved)
	}
	for _, p := range f.Census {
		s.Pause.Batches += p.Pause.Batches
		s.Pause.P50, s.Pause.P99, s.Pause.Max = max(s.Pause.P50, p.Pause.P50), max(s.Pause.P99, p.Pause.P99), max(s.Pause.Max, p.Pause.Max)
	}
	slices.SortStableFunc(s.Processes, func(a, b operate.Process) int { return s.rank(a) - s.rank(b) })
	if last := f.last(func(r Record) bool { return r.Verify != nil }); last != nil {
		v := last.Verify
		s.Verify = &Verify{last.Began, last.Took, v.Chosen, v.Wrong(), v.Transit.Count, v.OldestTransit}
	}
	s.ask()
	s.goBack(f)
	s.Verdict = s.judge()
	return s
}

// Worst returns the worst state of the gates, in any order of them: closed, then unknown, then not yet, then open.
func Worst(gates []operate.Gate) operate.GateState {
	order := []operate.GateState{operate.GateOpen, operate.GateLater, operate.GateUnknown, operate.GateClosed}
	worst := 0
	for _, g := range gates {
		worst = max(worst, slices.Index(order, g.State))
	}
	return order[worst]
}

// rank orders the processes by their problems.
func (s *Status) rank(p operate.Process) int {
	switch {
	case p.Epoch < s.Stage.Epoch:
		return 0
	case p.Error != "":
		return 1
	}
	return 2
}

// last returns the latest record of a kind.
func (f Facts) last(is func(Record) bool) *Record {
	for _, r := range slices.Backward(f.Records) {
		if is(r) {
			return &r
		}
	}
	return nil
}

// keys scales the sample up to all names. Without a sample it takes the last verify.
func (f Facts) keys() *Keys {
	r, names, at := f.Sample, f.Names, f.Now
	if r == nil {
		last := f.last(func(r Record) bool { return r.Verify != nil })
		if last == nil {
			return nil
		}
		r, names, at = last.Verify, int64(last.Verify.Names), last.Began
	}
	scale := func(n int) int64 {
		if int64(r.Names) >= names || r.Names == 0 {
			return int64(n)
		}
		return int64(float64(n)*float64(names)/float64(r.Names) + 0.5)
	}
	return &Keys{
		Looked: r.Chosen, Estimate: int64(r.Names) < names, At: at.UTC(),
		Old: scale(r.Open), Transit: scale(r.Transit.Count), New: scale(r.Equal + r.ChangedSince),
		Stay: scale(r.Stay()), Wrong: scale(r.Wrong()),
		TwoHomes: scale(r.TwoHomes.Count), Unmarked: scale(r.Unmarked.Count),
		Moving: r.Transit.Names, Oldest: r.OldestTransit,
	}
}

// sweeps returns the recorded sweeps and those that run, the latest one last.
func (f Facts) sweeps() (all []*Sweep) {
	for _, r := range f.Records {
		if r.Pass != nil && r.Took > 0 {
			all = append(all, newSweep(r.Began, r.Took, *r.Pass, r.Pause))
		}
	}
	for _, p := range slices.Concat(f.Census, f.Sweepers) {
		if p.Sweep == nil {
			continue
		}
		w := newSweep(p.Sweep.Began, p.At.Sub(p.Sweep.Began), p.Sweep.Pass, p.Pause)
		w.Process = p.Name
		if w.Rate > 0 {
			w.Left = time.Duration(float64(max(f.Names-int64(w.Visited), 0)) / w.Rate * float64(time.Second))
		}
		all = append(all, w)
	}
	return all
}

func newSweep(began time.Time, took time.Duration, pass operate.Pass, pause operate.Pause) *Sweep {
	s := &Sweep{Began: began, Took: took, Visited: pass.Names, Moved: pass.Moved, Pause: pause}
	if took > 0 {
		s.Rate = float64(pass.Names) / took.Seconds()
	}
	return s
}

// ask sets Asked and NotYet.
func (s *Status) ask() {
	moves := s.Stage.Phase == cutover.Copying || s.Stage.Phase == cutover.Reverse
	behind, failing := s.with(0), s.with(1)
	all := wrap.Counted(len(s.Processes), "process")
	if len(behind) > 0 {
		s.NotYet = append(s.NotYet, fmt.Sprintf("epoch %d is not seen by %d of %s: %s",
			s.Stage.Epoch, len(behind), all, wrap.First(behind)))
	}
	if len(failing) > 0 {
		s.NotYet = append(s.NotYet, fmt.Sprintf("the stage cannot be read by %d of %s: %s", len(failing), all, wrap.First(failing)))
	}
	if moves && s.Stage.Freeze {
		s.NotYet = append(s.NotYet, "frozen: no move begins before freeze -off")
	}
	var left int64
	sampled := false
	switch s.Stage.Phase {
	case cutover.Follow:
		s.Asked = "no key moves; every process follows keys that have moved"
	case cutover.Copying:
		which := "every key"
		if s.Stage.Percent < 100 {
			which = fmt.Sprintf("%d %% of the keys", s.Stage.Percent)
		}
		if len(s.Stage.Labels) > 0 {
			which += " of " + strings.Join(s.Stage.Labels, ", ")
		}
		s.Asked = which + " in the new store"
		if s.Keys != nil && s.Stage.Percent == 100 && len(s.Stage.Labels) == 0 {
			left, sampled = s.Keys.Old, s.Keys.Estimate
		}
	case cutover.Complete:
		s.Asked = "every process uses the new store only"
		if s.Keys != nil && s.Keys.Old > 0 {
			s.NotYet = append(s.NotYet, fmt.Sprintf("%s%s in the old store, where no process looks: read them before you delete it",
				s.Keys.about(), wrap.Counted(s.Keys.Old, "key")))
		}
	case cutover.Reverse:
		s.Asked = "every key in the old store"
		if s.Keys != nil {
			left, sampled = s.Keys.New, s.Keys.Estimate
		}
	}
	if left > 0 {
		s.NotYet = append(s.NotYet, fmt.Sprintf("%s%s to move: by a sweep, or when a process updates them",
			s.Keys.about(), wrap.Counted(left, "key")))
		if s.Sweep == nil || s.Sweep.Process == "" {
			s.NotYet = append(s.NotYet, "no sweep runs")
		}
	} else if sampled {
		s.NotYet = append(s.NotYet, fmt.Sprintf("perhaps: only %s of %s were looked at; sweep until a pass moves none, then verify",
			wrap.Grouped(int64(s.Keys.Looked)), wrap.Counted(s.Keys.All(), "key")))
	}
	if moves && s.Keys != nil && s.Keys.Stay > 0 {
		s.NotYet = append(s.NotYet, fmt.Sprintf("%s%s cannot move, because of size or type: verify names them",
			s.Keys.about(), wrap.Counted(s.Keys.Stay, "key")))
	}
	if s.Keys != nil && s.Keys.Wrong > 0 {
		s.NotYet = append(s.NotYet, fmt.Sprintf("%s%s in a state that no move makes: verify names them",
			s.Keys.about(), wrap.Counted(s.Keys.Wrong, "key")))
	}
}

func (k Keys) about() string {
	if k.Estimate {
		return "about "
	}
	return ""
}

// with names the processes of a rank.
func (s *Status) with(rank int) (names []string) {
	for _, p := range s.Processes {
		if s.rank(p) != rank {
			continue
		}
		name := p.Name
		if rank == 1 {
			name += ": " + p.Error
		}
		names = append(names, name)
	}
	return names
}

// goBack describes the way back.
func (s *Status) goBack(f Facts) {
	switch s.Stage.Phase {
	case cutover.Follow:
		s.Back.Way = "none is needed: no stage has moved keys"
		return
	case cutover.Complete:
		s.Back.Way = "none: the old store misses all updates since this stage"
		return
	case cutover.Copying:
		s.Back.Way = "reverse, then sweep"
		if s.Stage.Freeze {
			s.Back.Way = "reverse, then freeze -off, then sweep"
		}
		if s.Keys != nil {
			s.Back.Keys = s.Keys.New
		}
	case cutover.Reverse:
		s.Back.Way = "forward again: advance -to copying, then sweep"
		if s.Keys != nil {
			s.Back.Keys = s.Keys.Old
		}
	}
	perKey, most := time.Duration(0), 0
	for _, w := range f.sweeps() {
		most = max(most, w.Moved)
	}
	for _, w := range f.sweeps() {
		if w.Moved > 0 && 2*w.Moved >= most {
			perKey = w.Took / time.Duration(w.Moved)
		}
	}
	s.Back.Takes = perKey * time.Duration(s.Back.Keys)
}
