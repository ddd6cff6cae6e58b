package locktest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/twin"
)

// call prints a call, or a crowd of them.
func (b *printer) call(c *callPlan) {
	end := twin.Endings()[c.ending]
	joins := b.joins(c)
	asked := !joins && slices.ContainsFunc(c.acts, func(a act) bool { return a.kind == doAsk })
	cancels := c.limit != 0 || slices.ContainsFunc(c.acts, func(a act) bool { return a.kind == doCancel })
	group := "all"
	if !c.async {
		group = "crowd"
	}
	if c.async || c.crowd > 1 {
		b.used[group] = true
	}
	scope, after := "", ""
	switch {
	case c.crowd > 1:
		scope, after = "for i := range "+strconv.Itoa(c.crowd)+" {\n"+group+".Go(func() {", "})\n}"
	case c.async:
		scope, after = group+".Go(func() {", "})"
	case end.Exit:
		scope, after = "{\ndone := make(chan struct{})\ngo func() {\ndefer close(done)", "}()\n<-done\n}"
	case end.Panic != nil:
		scope, after = "func() {", "}()"
	case cancels || asked && b.target.Checks:
		scope, after = "{", "}"
	}
	if scope != "" {
		b.line("%s", scope)
	}
	ctx := b.callCtx(c, cancels, scope == "{")
	if asked && b.target.Checks {
		b.line("var seq lock.Sequencer")
	}
	switch {
	case end.Panic != nil && !asked:
		b.line("defer func() { t.Logf(\"%%T: %%[1]v\", recover()) }()")
	case end.Panic != nil:
		b.line("defer func() {\nt.Logf(\"%%T: %%[1]v\", recover())")
		b.askAfter(c, asked)
		b.line("}()")
	case end.Exit && asked && (b.target.Checks || b.target.Inspects):
		b.line("defer func() {")
		b.askAfter(c, asked)
		b.line("}()")
	}
	b.make(section{c, joins}, ctx, end)
	if end.Panic == nil && !end.Exit {
		b.askAfter(c, asked)
	}
	if cancels && scope == "{" && c.limit != endedBefore {
		b.line("cancel()")
	}
	if scope != "" {
		b.line("%s", after)
	}
	switch {
	case c.async:
		b.line("time.Sleep(time.Millisecond)")
	case c.crowd > 1:
		b.line("crowd.Wait()")
	}
}

// callCtx prints the statements that make the ctx of a call, and returns the ctx.
func (b *printer) callCtx(c *callPlan, cancels, block bool) string {
	ctx := "t.Context()"
	if len(b.within) == 0 || !c.detached {
		ctx = b.ctx()
	}
	if c.data > 0 {
		b.data++
		data := strconv.FormatInt(int64(b.data), 36)
		code := fmt.Sprintf("[]byte(%q)", data[:min(len(data), c.data)])
		if more := c.data - len(data); more > 0 {
			code = fmt.Sprintf("append(%s, make([]byte, %d)...)", code, more)
		}
		ctx = "lock.WithData(" + ctx + ", " + code + ")"
	}
	if !cancels {
		return ctx
	}
	if c.limit > 0 {
		b.line("ctx, cancel := context.WithTimeout(%s, %s)", ctx, suite.GoDuration(c.limit))
	} else {
		b.line("ctx, cancel := context.WithCancel(%s)", ctx)
	}
	switch {
	case c.limit == endedBefore:
		b.line("cancel()")
	case !block:
		b.line("defer cancel()")
	}
	return "ctx"
}

// make prints the call itself.
func (b *printer) make(c section, ctx string, end twin.Ending) {
	l, name, i := b.locker(c.locker), b.names[c.name], ""
	if c.crowd > 1 {
		i = "i, "
		if c.spread {
			b.line("l := []lock.Locker{%s, %s, %s}[(i+%d)%%%d]", b.locker(0), b.locker(1), b.locker(2), c.locker, lockers)
			l = "l"
		}
	} else if c.apart {
		name += "0"
	}
	name = suite.GoText(name)
	if c.crowd > 1 && c.apart {
		name += "+strconv.Itoa(i)"
	}
	b.within = append(b.within, c)
	defer func() { b.within = b.within[:len(b.within)-1] }()
	if c.way == byLock {
		b.line("if h, err := %s.Lock(%s, %s); err != nil {\nt.Log(%serr)\n} else {", l, ctx, name, i)
	} else {
		b.line("t.Log(%s%s.%s(%s, %s, func(ctx context.Context) error {", i, l, [...]string{"WithLock", "TryLock"}[c.way], ctx, name)
	}
	b.line("t.Log(%s\"in\")", i)
	b.acts(c.acts)
	if !c.blind && !c.joins {
		b.line("t.Log(%s%s.Err(), context.Cause(%[2]s))", i, b.ctx())
	}
	switch {
	case c.other:
		b.line("done := make(chan error)\ngo func() { done <- h.Unlock() }()\nt.Log(%s<-done, h.Unlock())\n}", i)
	case c.way == byLock:
		b.line("t.Log(%sh.Unlock())\n}", i)
	case end.Err != nil:
		b.line("return %s\n}))", end.Code)
	case end.Exit:
		b.line("runtime.Goexit()\nreturn nil\n}))")
	case end.Panic != nil:
		b.line("%s\n}))", end.Code)
	default:
		b.line("return nil\n}))")
	}
}

// joins reports whether a call joins one around it that holds the lock.
func (b *printer) joins(c *callPlan) bool {
	inner := c
	for _, o := range slices.Backward(b.within) {
		if inner.detached {
			return false
		}
		if o.locker == c.locker && o.name == c.name {
			return true
		}
		inner = o.callPlan
	}
	return false
}

// ask prints the requests of programRun.ask.
func (b *printer) ask(a act) {
	in := b.within[len(b.within)-1]
	name, l := suite.GoText(b.names[in.name]), b.locker(a.locker)
	if in.joins && b.target.Checks {
		b.line("{")
		defer b.line("}")
		b.asks(b.ctx(), l, name, "seq, err :=")
		return
	}
	b.asks(b.ctx(), l, name, "seq, _ =")
}

// asks prints the requests of the Locker l about the lock of ctx.
func (b *printer) asks(ctx, l, name, assign string) {
	b.line("t.Log(lock.Token(%s))", ctx)
	if b.target.Checks {
		b.line("%s lock.SequencerOf(%s)", assign, ctx)
		if strings.Contains(assign, "err") {
			b.line("t.Log(seq, err)")
		} else {
			b.line("t.Log(seq)")
		}
	} else {
		b.line("t.Log(lock.SequencerOf(%s))", ctx)
	}
	b.looks(l, name)
}

// looks prints a Check and an Inspect by the Locker l.
func (b *printer) looks(l, name string) {
	if b.target.Checks {
		b.line("t.Log(%s.(lock.Checker).Check(t.Context(), seq))", l)
	}
	if b.target.Inspects {
		b.used["inspect"] = true
		b.line("inspect(t, %s, %s)", l, name)
	}
}

// askAfter prints the requests of caller.askAfter.
func (b *printer) askAfter(c *callPlan, asked bool) {
	if asked && (b.target.Checks || b.target.Inspects) {
		b.looks(b.locker((c.locker+1)%lockers), suite.GoText(b.names[c.name]))
	}
}
