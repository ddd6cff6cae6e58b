package live

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat"
)

// MonitorConfig bounds the cost of MONITOR, which can halve the throughput of a server. The zero
// value works.
type MonitorConfig struct {
	// For is the time limit. Default 10 seconds.
	For time.Duration
	// Lines is the limit of commands of a server. Default 10,000.
	Lines int
	// Rate is the limit of commands per second: MONITOR does not start above it, and ends above
	// it. Default 5,000.
	Rate int
	// Force ignores Rate.
	Force bool
	// ShowKeys reports keys instead of their patterns.
	ShowKeys bool
	// Line, if not nil, is called with each command in the order of the server, by one goroutine per server. It
	// must not keep a value of a key.
	Line func(MonitorLine)
}

func (c MonitorConfig) withDefaults() MonitorConfig {
	c.For = cmp.Or(max(c.For, 0), 10*time.Second)
	c.Lines = cmp.Or(max(c.Lines, 0), 10_000)
	c.Rate = cmp.Or(max(c.Rate, 0), 5_000)
	return c
}

const (
	maxLine     = 64 << 10 // bytes; names and keys come first in most commands
	maxPatterns = 20       // of keys, for each command
)

// monitor is a run of MONITOR on a server. Its results may be read after done is closed.
type monitor struct {
	cfg     MonitorConfig
	profile *proxycompat.Profile
	wire    *resp.Conn
	done    chan struct{}
	stopped atomic.Bool // by stop

	lines, cut int
	took       time.Duration
	ended      string                    // the reason
	early      bool                      // before its time
	sources    map[string]map[string]int // lines, by command and address
	lua        map[string]int            // lines of scripts, by command
	crossing   map[crossingOf]*crossing
	together   map[string]int // lines with compatible keys, by command
	hello      int            // PUBLISH of sentinels
}

// crossingOf is a command with incompatible keys, or with arguments of a later server version, and the
// rule for it.
type crossingOf struct{ rule, command string }

func (x crossingOf) compare(y crossingOf) int {
	return cmp.Or(cmp.Compare(x.rule, y.rule), cmp.Compare(x.command, y.command))
}

type crossing struct {
	lines        int
	why, instead string
	patterns     map[string]int
}

// startMonitor sends MONITOR, and reads in the background until a limit, or stop.
func startMonitor(ctx context.Context, w *resp.Conn, cfg MonitorConfig, profile *proxycompat.Profile) (*monitor, error) {
	if _, err := w.Do(ctx, "MONITOR"); err != nil {
		w.Close()
		return nil, err
	}
	m := &monitor{
		cfg: cfg, profile: profile.AllowTagged(), wire: w, done: make(chan struct{}),
		sources: map[string]map[string]int{}, lua: map[string]int{}, crossing: map[crossingOf]*crossing{}, together: map[string]int{},
	}
	go m.run()
	return m, nil
}

// stop ends the run, and waits for it.
func (m *monitor) stop() {
	m.stopped.Store(true)
	m.wire.Close()
	<-m.done
}

func (m *monitor) run() {
	defer close(m.done)
	defer m.wire.Close()
	began := time.Now()
	m.ended, m.early = m.read(began)
	m.took = time.Since(began)
}

// read reads lines, and returns the reason for its end, and whether it came early.
func (m *monitor) read(began time.Time) (ended string, early bool) {
	replies, err := m.wire.Stream(began.Add(m.cfg.For))
	if err != nil {
		return "the connection was lost", true
	}
	second, inSecond := began, 0
	for m.lines < m.cfg.Lines {
		line, cut, err := readMonitorLine(replies)
		switch now := time.Now(); {
		case err != nil && now.Sub(began) >= m.cfg.For:
			return "its time was over", false
		case err != nil && m.stopped.Load():
			return "the look was over", false
		case err != nil:
			return "the server closed the connection", true
		case now.Sub(second) >= time.Second:
			second, inSecond = now, 0
		}
		m.lines++
		if inSecond++; inSecond > m.cfg.Rate && !m.cfg.Force {
			return fmt.Sprintf("there were more than %d commands within a second", m.cfg.Rate), true
		}
		if cut {
			m.cut++
		}
		if parsed, ok := ParseMonitorLine(line); ok {
			parsed.Cut = parsed.Cut || cut
			m.take(parsed)
			if m.cfg.Line != nil {
				m.cfg.Line(parsed)
			}
		}
	}
	return fmt.Sprintf("%d commands were seen", m.lines), true
}

// readMonitorLine reads a line, and keeps maxLine bytes of it.
func readMonitorLine(br *bufio.Reader) (line string, cut bool, err error) {
	var kept []byte
	for {
		part, err := br.ReadSlice('\n')
		if room := maxLine - len(kept); len(part) > room {
			part, cut = part[:room], true
		}
		kept = append(kept, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return string(kept), cut, err
	}
}

// take counts a command. It keeps no values.
func (m *monitor) take(line MonitorLine) {
	args := line.Args
	name := clean(strings.ToUpper(args[0]))
	if known, ok := proxycompat.CommandOf(args...); ok {
		name = known.Name
	}
	if name == "PUBLISH" && len(args) > 1 && args[1] == helloChannel {
		m.hello++
		return
	}
	j := judge(m.profile, name, true)
	_, newer := m.profile.RuleFor(args...).TooNew(args)
	finding := j.rule != "" && !j.keys
	if j.rule == "" && !newer || !finding && m.passes(name, line) {
		return
	}
	if line.Source == "lua" {
		m.lua[name]++
		return
	}
	if m.sources[name] == nil {
		m.sources[name] = map[string]int{}
	}
	m.sources[name][wrap.Printable(line.Source)]++
}

// helloChannel is the channel of the sentinels.
const helloChannel = "__sentinel__:hello"

// passes reports whether the proxy accepts the keys of a command, and the server its arguments. It
// returns true for a line that was cut, and for commands of scripts.
func (m *monitor) passes(name string, line MonitorLine) bool {
	if line.Cut || line.Source == "lua" {
		return true
	}
	indices, _ := proxycompat.KeysOf(line.Args...)
	var refused *proxycompat.RefusedError
	if err := m.profile.Check(line.Args...); !errors.As(err, &refused) {
		verdict := m.profile.Rule(name).Verdict
		if verdict == proxycompat.OneKey || verdict == proxycompat.SameSlot {
			m.together[name]++
		}
		return true
	}
	of := crossingOf{"MC402", name}
	if _, newer := m.profile.RuleFor(line.Args...).TooNew(line.Args); newer {
		of.rule = "MC401"
	}
	if known, ok := proxycompat.CommandOf(line.Args...); ok && known.Group == "scripting" {
		of.rule = "MC501"
		if len(indices) == 0 {
			of.rule = "MC502"
		}
	}
	c := m.crossing[of]
	if c == nil {
		c = &crossing{why: refused.Reason, instead: refused.Instead, patterns: map[string]int{}}
		m.crossing[of] = c
	}
	c.lines++
	show := keyPattern
	if m.cfg.ShowKeys {
		show = clean
	}
	keys := make([]string, len(indices))
	for i, at := range indices {
		keys[i] = show(line.Args[at])
	}
	text := strings.Join(keys, " ")
	if _, known := c.patterns[text]; text != "" && (known || len(c.patterns) < maxPatterns) {
		c.patterns[text]++
	}
	return false
}
