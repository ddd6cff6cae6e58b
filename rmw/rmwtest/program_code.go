package rmwtest

import (
	"fmt"
	"go/format"
	"slices"
	"strings"
	"sync"

	"github.com/unwatch/unwatch/internal/suite"
	"github.com/unwatch/unwatch/internal/twin"
	"github.com/unwatch/unwatch/rmw"
)

// code is a part of a program as Go. Lines are added while the program runs. A nil code drops them.
type code struct {
	mu    sync.Mutex
	lines []string
}

func (c *code) add(format string, args ...any) {
	if c != nil {
		c.take([]string{fmt.Sprintf(format, args...)})
	}
}

func (c *code) take(lines []string) {
	if c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines = append(c.lines, lines...)
	}
}

func (c *code) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.lines)
}

// source returns the test function that runs the program.
func (c *code) source() string {
	body := strings.Join(c.all(), "\n")
	var b strings.Builder
	b.WriteString("func TestProgram(t *testing.T) {\nsynctest.Test(t, func(t *testing.T) {\ntarget := open(t) // as for rmwtest\n")
	b.WriteString("a, b := target.Open(), target.Open()\n")
	for _, declared := range [][2]string{
		{"(ctx,", "ctx := t.Context()"},
		{"direct.", "direct := target.Direct"}, {"faults.", "faults := target.Faults"}, {"calls", "calls := 0"}, {"err =", "var err error"},
	} {
		if strings.Contains(body, declared[0]) {
			b.WriteString(declared[1] + "\n")
		}
	}
	for _, s := range []string{"a", "b"} {
		if !strings.Contains(body, s+".") && !strings.Contains(body, ", "+s+",") && !strings.Contains(body, "{a, b") {
			b.WriteString("_ = " + s + "\n")
		}
	}
	b.WriteString(body + "\n})\n}\n")
	for _, helper := range []string{
		`func increment(cur rmw.Value) rmw.Value {
	n, _ := strconv.ParseInt(cur.Text(), 10, 64)
	return rmw.String(strconv.FormatInt(n+1, 10))
}`,
		`func moveField(cur rmw.Value) rmw.Value {
	if _, ok := cur.Field("f"); ok {
		return cur.Without("f").With("g", "moved")
	}
	return cur.Without("g").With("f", "moved")
}`,
		`func manyFields(n int) rmw.Value {
	fields := map[string]string{}
	for i := range n {
		fields[strconv.Itoa(i)] = "v"
	}
	return rmw.Hash(fields)
}`,
	} {
		if name, _, _ := strings.Cut(strings.TrimPrefix(helper, "func "), "("); strings.Contains(body, name+"(") {
			b.WriteString("\n" + helper + "\n")
		}
	}
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return b.String() // the present step has not ended
	}
	return string(text)
}

// around writes the code of a call, within what gives it its ctx, and keeps a panic or an exit of fn.
func (c *call) around(end twin.Ending, write func()) {
	switch c.step.cancel {
	case cancelBefore:
		c.out.add("{\nctx, cancel := context.WithCancel(ctx)\ncancel()")
	case cancelInFn:
		c.out.add("{\nctx, cancel := context.WithCancel(ctx)\ndefer cancel()")
	case cancelAtCommand:
		c.out.add("{\nctx, cancel := context.WithCancel(ctx)\nstop := faults.Arm(%d, rmwtest.Fault{Do: cancel})", c.cancelAt)
	}
	switch {
	case end.Panic != nil:
		c.out.add("func() {\ndefer func() { t.Log(recover()) }()")
		defer c.out.add("}()")
	case end.Exit:
		c.out.add("{\ndone := make(chan struct{})\ngo func() {\ndefer close(done)")
		defer c.out.add("}()\n<-done\n}")
	}
	write()
}

// after ends the code of a call.
func (c *call) after(result string) {
	c.out.add("t.Log(calls, err) // %d, %s", c.calls, result)
	c.restore()
}

// restore ends what around has begun.
func (c *call) restore() {
	switch c.step.cancel {
	case cancelAtCommand:
		c.out.add("stop()\n}")
	case cancelBefore, cancelInFn:
		c.out.add("}")
	}
}

func (c *call) writeRead(peek bool, v rmw.Value, err error) {
	text := brief(v)
	if err != nil {
		text = errText(err)
	}
	c.around(twin.Ending{}, func() {
		if peek {
			c.out.add("{\npeeker, _ := rmw.As[rmw.Peeker](%s)\nt.Log(peeker.Peek(ctx, %s)) // %s\n}", c.storeName(c.store), goKey(c.key), text)
		} else {
			c.out.add("t.Log(%s.Read(ctx, %s)) // %s", c.storeName(c.store), goKey(c.key), text)
		}
	})
	c.restore()
}

// writeFn writes the events of each call of fn, and its end.
func (c *call) writeFn(end twin.Ending, failed string) {
	c.out.add("calls++")
	if slices.ContainsFunc(c.fns, func(in *code) bool { return len(in.lines) > 0 }) {
		c.out.add("switch calls {")
		for i, in := range c.fns {
			if len(in.lines) > 0 {
				c.out.add("case %d:", i+1)
				c.out.take(in.all())
			}
		}
		c.out.add("}")
	}
	if c.ending > 0 {
		s := end.Code
		if end.Err != nil {
			s = "return " + failed + s
		}
		c.out.add("if calls >= %d {\n%s\n}", c.at, s)
	}
}

func (c *call) writeUpdate(end twin.Ending, out rmw.Value, err error) {
	c.around(end, func() {
		c.out.add("calls = 0\n_, err = %s.Update(ctx, %s, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {",
			c.storeName(c.store), goKey(c.key))
		c.writeFn(end, "rmw.Value{}, ")
		c.out.add("return %s, nil\n})", c.edit.code(c.key.Kind, out))
	})
	c.after(errText(err))
}

func (c *call) writeTransact(end twin.Ending, parts []txPart, order []int, keys []rmw.Key, err error) {
	c.around(end, func() {
		c.out.add("calls = 0\n_, err = rmw.Transact(ctx, %s, func(ctx context.Context, tx *rmw.Tx) error {\nvar cur rmw.Value\n_ = cur",
			c.storeName(c.store))
		for i, k := range order {
			if c.skips(i, k) {
				c.out.add("if calls == 1 {")
			}
			c.out.add("cur = tx.Get(%s)", goKey(keys[k]))
			if i == 0 {
				inner := *c
				inner.ending = 0
				inner.writeFn(end, "")
			}
			if e := c.edits[k]; e.name != "same" || e.ttl != 0 {
				var last rmw.Value
				for _, p := range parts {
					if p.key == k {
						last = p.out
					}
				}
				c.out.add("tx.Put(%s, %s)", goKey(keys[k]), e.code(c.keyKinds[k], last))
			}
			if c.skips(i, k) {
				c.out.add("}")
			}
		}
		if c.ending > 0 {
			s := end.Code
			if end.Err != nil {
				s = "return " + s
			}
			c.out.add("if calls >= %d {\n%s\n}", c.at, s)
		}
		c.out.add("return nil\n}, %s, %s)", goKey(keys[0]), goKey(keys[1]))
	})
	c.after(errText(err))
}

func errText(err error) string {
	if err == nil {
		return "stored"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// writeCrowd writes the code of a crowd.
func (r *run) writeCrowd(s *step) {
	name := fmt.Sprintf("%s+%q+strconv.Itoa(i%%%d)", suite.GoText(r.names[0]), fmt.Sprintf("crowd:%d:", r.index), s.spread)
	id := fmt.Sprintf("%q+strconv.Itoa(i)+%q", fmt.Sprintf("<%d.", r.index), ">")
	kind, next := "", "rmw.String(cur.Text()+"+id+")"
	if r.keyKinds[s.key] == rmw.KindHash {
		kind, next = ", Kind: rmw.KindHash", "cur.With("+id+`, "x")`
		if s.crowd > 3 {
			next = "cur.With(" + id + ", strconv.Itoa(cur.Len()))"
		}
	}
	r.code.add("{\nvar all sync.WaitGroup\nfor i := range %d {\nkey := rmw.Key{Name: %s%s}\nall.Go(func() {", s.crowd, name, kind)
	r.code.add("store := []rmw.Store{a, b}[i*%d%%2]\ntime.Sleep(time.Duration(i*7%%5) * time.Millisecond / 2)", s.store)
	if s.spread < s.crowd {
		r.code.add("if i%%4 == 3 {\n_, err := store.Read(ctx, key)\nt.Log(i, err)\nreturn\n}")
	}
	r.code.add("_, err := store.Update(ctx, key, func(ctx context.Context, cur rmw.Value) (rmw.Value, error) {")
	r.code.add("next := %s\ntime.Sleep(time.Duration(i%%3) * time.Millisecond)\nreturn next, nil\n})\nt.Log(i, err)\n})\n}\nall.Wait()\n}", next)
}

// writeLast writes that each Store reads and updates each key.
func (r *run) writeLast() {
	var keys []string
	for i := range r.names[:3] {
		keys = append(keys, goKey(r.rkey(i, 0)))
	}
	r.code.add("time.Sleep(time.Minute)\nfor _, store := range []rmw.Store{a, b, target.Open()} {")
	r.code.add("for _, key := range []rmw.Key{%s} {\nt.Log(store.Read(ctx, key))", strings.Join(keys, ", "))
	r.code.add("_, err = store.Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {")
	r.code.add(`if key.Kind == rmw.KindHash {
return cur.With("<end>", "x"), nil
}
return rmw.String(cur.Text()+"<end>"), nil
})
t.Log(err)
}
}`)
}
