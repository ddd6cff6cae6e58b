package locktest

import (
	"fmt"
	"go/format"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/suite"
)

// source returns the program as a test function, to be pasted below the open of its Target.
func (p program) source() string {
	b := &printer{program: p, used: map[string]bool{}}
	b.acts(p.acts)
	b.end()
	body := b.String()
	b.Reset()
	b.line("func TestProgram(t *testing.T) {\nsynctest.Test(t, func(t *testing.T) {")
	if b.used["a"] || b.used["b"] || b.used["c"] || b.used["faults"] {
		b.line("target := open(t) // as for locktest")
	}
	if b.used["ctx"] {
		limit := (p.busy() + callLimit + time.Hour - 1).Truncate(time.Hour)
		b.line("ctx, cancel := context.WithTimeout(t.Context(), %s)\ndefer cancel()", suite.GoDuration(limit))
	}
	var opened, calls []string
	for i := range lockers {
		if name := lockerName(i); b.used[name] {
			opened, calls = append(opened, name), append(calls, "target.Open(t)")
		}
	}
	if len(opened) > 0 {
		b.line("%s := %s", strings.Join(opened, ", "), strings.Join(calls, ", "))
	}
	for _, declared := range [][2]string{
		{"faults", "faults := target.Faults"}, {"all", "var all sync.WaitGroup"}, {"crowd", "var crowd sync.WaitGroup"},
		{"silent", fmt.Sprintf("var silent [%d]atomic.Bool // while a Locker gets no reply", lockers)},
	} {
		if b.used[declared[0]] {
			b.line("%s", declared[1])
		}
	}
	b.line("%s})\n}", body)
	if b.used["inspect"] {
		b.line("%s", inspect)
	}
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return b.String()
	}
	return string(text)
}

const inspect = `
func inspect(t *testing.T, l lock.Locker, name string) {
	t.Helper()
	info, err := l.(lock.Inspector).Inspect(t.Context(), name)
	t.Logf("%v, held %v, %d bytes of data %.40q, %v", info.Sequencer, info.Held, len(info.Data), info.Data, err)
}`

// printer prints a program as Go.
type printer struct {
	strings.Builder
	program

	within []section       // those around the present act, the outermost first
	used   map[string]bool // variables
	data   int             // calls with data
}

// section is a critical section.
type section struct {
	*callPlan

	joins bool // the hold of one around it
}

func (b *printer) line(format string, args ...any) { _, _ = fmt.Fprintf(b, format+"\n", args...) }

func lockerName(i int) string { return string(rune('a' + i)) }

// locker names a Locker, which is used thereby.
func (b *printer) locker(i int) string {
	b.used[lockerName(i)] = true
	return lockerName(i)
}

// ctx is the ctx of the present acts.
func (b *printer) ctx() string {
	switch n := len(b.within); {
	case n == 0:
		b.used["ctx"] = true
	case b.within[n-1].way == byLock:
		return "h.Context()"
	}
	return "ctx"
}

func (b *printer) acts(acts []act) {
	for _, a := range acts {
		b.act(a)
	}
}

func (b *printer) act(a act) {
	switch a.kind {
	case doCall:
		b.call(a.call)
	case doPass:
		b.line("time.Sleep(%s)", suite.GoDuration(a.pass))
	case doAsk:
		if len(b.within) > 0 {
			b.ask(a)
		}
	case doCancel:
		if len(b.within) > 0 {
			b.line("cancel()\ntime.Sleep(time.Millisecond)\nt.Log(%s.Err())", b.ctx())
		}
	case doClose:
		b.used["all"] = true
		b.line("if l, ok := %s.(io.Closer); ok {\nall.Go(func() { t.Log(l.Close()) })\n}", b.locker(a.locker))
		b.line("time.Sleep(time.Millisecond)")
	default:
		b.fault(a)
	}
}

func (b *printer) fault(a act) {
	b.used["faults"] = true
	pass := suite.GoDuration(a.pass)
	switch a.kind {
	case doTakeAway:
		b.line("t.Log(faults.TakeAway(t.Context(), %s))", suite.GoText(b.names[a.name]))
	case doStall:
		b.line("faults.Stall(%s, %s)", b.locker(a.locker), pass)
	case doCut, doLoseReply, doLate:
		fault := map[actKind]string{doCut: "Cut", doLoseReply: "LoseReply", doLate: "Late"}[a.kind]
		begin := "faults." + fault + "(" + b.locker(a.locker) + ")"
		if len(b.lasting(a.locker)) == 1 {
			b.line("time.AfterFunc(%s, %s)", pass, begin)
			return
		}
		b.used["silent"] = true
		b.line("if silent[%d].CompareAndSwap(false, true) {\nrestore := %s\ntime.AfterFunc(%s, func() {", a.locker, begin, pass)
		b.line("restore()\nsilent[%d].Store(false)\n})\n}", a.locker)
	case doReconnect:
		b.line("faults.Reconnect(%s)", b.locker(a.locker))
	case doExpire:
		b.line("faults.Expire(%s)", b.locker(a.locker))
	case doRestart:
		b.line("faults.Restart()")
	case doForget:
		b.line("faults.Forget()")
	}
}

// end prints the wait for calls and faults, and the calls of programRun.last.
func (b *printer) end() {
	if b.used["all"] {
		b.line("all.Wait()")
	}
	faults := time.Duration(0)
	for i := range lockers {
		faults = max(faults, slices.Max(append(b.lasting(i), 0)))
	}
	switch {
	case !b.ends:
		b.line("time.Sleep(%s)", suite.GoDuration(faults+b.target.rest()))
	case faults > 0:
		b.line("time.Sleep(%s)", suite.GoDuration(faults))
	}
	if b.ends {
		return
	}
	b.line("lockers := []lock.Locker{%s, %s, %s, target.Open(t)}", b.locker(0), b.locker(1), b.locker(2))
	if b.used["faults"] {
		b.used["crowd"] = true
		b.line("for _, l := range lockers { // until no connection is broken\nfor i := range 32 {")
		b.line("crowd.Go(func() { _ = l.TryLock(t.Context(), \"reconnect\"+strconv.Itoa(i), func(context.Context) error { return nil }) })")
		b.line("}\n}\ncrowd.Wait()")
	}
	var texts []string
	for _, name := range b.names {
		texts = append(texts, suite.GoText(name))
	}
	b.line("names := []string{%s}\nfor n, name := range names {\nfor i, l := range lockers {", strings.Join(texts, ", "))
	b.line("t.Log(l.TryLock(t.Context(), name, func(ctx context.Context) error {")
	b.asks("ctx", "l", "name", "seq, err :=")
	b.line("next := names[(n+1)%%len(names)]")
	b.line("t.Log(lockers[(i+1)%%%d].TryLock(t.Context(), next, func(context.Context) error { return nil }))\nreturn nil\n}))", lockers)
	if b.target.ReleasedWithin > 0 {
		b.line("time.Sleep(%s)", suite.GoDuration(b.target.ReleasedWithin))
	}
	b.line("}\n}")
}

// lasting returns the times of the faults of a Locker that last.
func (p program) lasting(locker int) (all []time.Duration) {
	eachAct(p.acts, func(a *act) {
		if a.locker == locker && (a.kind == doCut || a.kind == doLoseReply || a.kind == doLate) {
			all = append(all, a.pass)
		}
	})
	return all
}

// busy returns the time that all acts take.
func (p program) busy() (sum time.Duration) {
	eachAct(p.acts, func(a *act) {
		sum += a.pass
		if a.call != nil && a.call.crowd > 1 && len(a.call.acts) > 0 {
			sum += time.Duration(a.call.crowd) * a.call.acts[0].pass
		}
	})
	return sum
}

// eachAct visits all acts.
func eachAct(acts []act, visit func(a *act)) {
	for i := range acts {
		visit(&acts[i])
		if c := acts[i].call; c != nil {
			eachAct(c.acts, visit)
		}
	}
}
