package locktest

import (
	"fmt"
	"strings"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/twin"
)

// String prints the program as Go.
func (p program) String() string {
	b := &printer{program: p}
	b.line("a, b, c := open(), open(), open()")
	b.acts(p.acts)
	b.line("time.Sleep(time.Minute)\n// And now each Locker gets each lock, while another gets the next one.")
	return strings.TrimSuffix(b.Builder.String(), "\n")
}

type printer struct {
	strings.Builder
	program

	indent int
}

func (b *printer) line(format string, args ...any) {
	_, _ = fmt.Fprintf(b, strings.Repeat("\t", b.indent)+format+"\n", args...)
}

func lockerName(i int) string { return string(rune('a' + i)) }

func (b *printer) acts(acts []act) {
	for _, a := range acts {
		b.act(a)
	}
}

func (b *printer) act(a act) {
	name, l, d := suite.GoText(b.names[a.name]), lockerName(a.locker), suite.GoDuration(a.pass)
	switch a.kind {
	case doCall:
		b.call(a.call)
	case doPass:
		b.line("time.Sleep(%s)", d)
	case doAsk:
		b.line("lock.Token(ctx); lock.SequencerOf(ctx) // and Check and Inspect of %s by %s", name, l)
	case doCancel:
		b.line("cancel() // the ctx of this call")
	case doTakeAway:
		b.line("faults.TakeAway(ctx, %s)", name)
	case doStall:
		b.line("faults.Stall(%s, %s)", l, d)
	case doCut, doLoseReply, doLate:
		fault := map[actKind]string{doCut: "Cut", doLoseReply: "LoseReply", doLate: "Late"}[a.kind]
		b.line("time.AfterFunc(%s, faults.%s(%s))", d, fault, l)
	case doReconnect:
		b.line("faults.Reconnect(%s)", l)
	case doExpire:
		b.line("faults.Expire(%s)", l)
	case doRestart:
		b.line("faults.Restart()")
	case doForget:
		b.line("faults.Forget()")
	case doClose:
		b.line("%s.(io.Closer).Close()", l)
	}
}

func (b *printer) call(c *callPlan) {
	l, name := lockerName(c.locker), suite.GoText(b.names[c.name])
	if c.crowd > 1 {
		b.line("for i := range %d {", c.crowd)
		b.indent++
		if c.spread {
			l = fmt.Sprintf("[]lock.Locker{a, b, c}[(%d+i)%%3]", c.locker)
		}
		if c.apart {
			name += "+strconv.Itoa(i)"
		}
	}
	start := ""
	if c.async || c.crowd > 1 {
		start = "go "
	}
	switch c.way {
	case byLock:
		b.line("%sfunc() {", start)
		b.indent++
		b.line("h, err := %s.Lock(%s, %s)", l, c.ctx(), name)
		b.line("if err != nil { return }")
		b.line("ctx := h.Context()")
		b.acts(c.acts)
		if c.other {
			b.line("go h.Unlock()")
		}
		b.line("err = h.Unlock()")
		b.indent--
		b.line("}()")
	default:
		method := [...]string{"WithLock", "TryLock"}[c.way]
		b.line("%s%s.%s(%s, %s, func(ctx context.Context) error {", start, l, method, c.ctx(), name)
		b.indent++
		b.acts(c.acts)
		switch end := twin.Endings()[c.ending]; {
		case end.Err != nil:
			b.line("return %s", end.Code)
		case c.ending > 0:
			b.line("%s", end.Code)
		default:
			b.line("return nil")
		}
		b.indent--
		b.line("})")
	}
	if c.crowd > 1 {
		b.indent--
		b.line("}")
		if !c.async {
			b.line("// wait for all of them")
		}
	}
}

// ctx is the ctx of a call as Go.
func (c *callPlan) ctx() string {
	s := "ctx"
	if c.detached {
		s = "context.Background()"
	}
	switch {
	case c.limit == endedBefore:
		s = "ended(" + s + ")"
	case c.limit > 0:
		s = fmt.Sprintf("within(%s, %s)", s, suite.GoDuration(c.limit))
	}
	if c.data > 0 {
		s = fmt.Sprintf("lock.WithData(%s, make([]byte, %d))", s, c.data)
	}
	return s
}
