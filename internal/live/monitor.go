package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
	"github.com/unwatch/unwatch/proxycompat"
)

// MonitorConfig bounds what MONITOR costs: a server writes each command that it gets to
// each MONITOR as well, which can halve what it gets done. The zero value works.
type MonitorConfig struct {
	// For is how long. 0: 10 seconds.
	For time.Duration
	// Lines ends it after so many commands of a server. 0: 10,000.
	Lines int
	// Rate ends it, or does not let it begin, where a server gets more commands a second.
	// 0: 5,000.
	Rate int
	// Force does not look at Rate.
	Force bool
	// ShowKeys shows keys as they are, and not their patterns.
	ShowKeys bool
}

func (c MonitorConfig) withDefaults() MonitorConfig {
	if c.For <= 0 {
		c.For = 10 * time.Second
	}
	if c.Lines <= 0 {
		c.Lines = 10_000
	}
	if c.Rate <= 0 {
		c.Rate = 5_000
	}
	return c
}

// maxLine is what is read of a line. The names and keys of most commands are in front.
const maxLine = 64 << 10

// maxPatterns is how many patterns of keys are kept of a command.
const maxPatterns = 20

// monitor is one run of MONITOR against one server. What it found may be read once done
// is closed.
type monitor struct {
	cfg     MonitorConfig
	profile *proxycompat.Profile
	wire    *wire
	done    chan struct{}
	stopped atomic.Bool // by us

	lines, cut int
	took       time.Duration
	ended      string                    // why
	sources    map[string]map[string]int // lines, by command and address
	lua        map[string]int            // lines, by command, of scripts
	crossing   map[crossingOf]*crossing
	together   map[string]int // lines whose keys fit together, of commands that need it
	hello      int            // PUBLISH of sentinels
}

// crossingOf is a command whose keys do not fit together or that the server is too old for, and
// the rule that says so.
type crossingOf struct{ rule, command string }

type crossing struct {
	lines        int
	why, instead string
	patterns     map[string]int
}

// startMonitor sends MONITOR, and reads in the background until a limit, or stop.
func startMonitor(ctx context.Context, w *wire, cfg MonitorConfig, profile *proxycompat.Profile) (*monitor, error) {
	if _, err := w.ask(ctx, "MONITOR"); err != nil {
		w.close()
		return nil, err
	}
	m := &monitor{
		cfg: cfg, profile: profile.AllowTagged(), wire: w, done: make(chan struct{}),
		sources: map[string]map[string]int{}, lua: map[string]int{}, crossing: map[crossingOf]*crossing{}, together: map[string]int{},
	}
	go m.run()
	return m, nil
}

// stop ends it, and waits until it has.
func (m *monitor) stop() {
	m.stopped.Store(true)
	m.wire.close()
	<-m.done
}

func (m *monitor) run() {
	defer close(m.done)
	defer m.wire.close()
	began := time.Now()
	defer func() { m.took = time.Since(began) }()
	if err := m.wire.conn.SetReadDeadline(began.Add(m.cfg.For)); err != nil {
		m.ended = "the connection was lost"
		return
	}
	second, inSecond := began, 0
	for m.lines < m.cfg.Lines {
		line, cut, err := readMonitorLine(m.wire.br)
		switch now := time.Now(); {
		case err != nil && now.Sub(began) >= m.cfg.For:
			m.ended = "its time was over"
			return
		case err != nil && m.stopped.Load():
			m.ended = "the look was over"
			return
		case err != nil:
			m.ended = "the server closed the connection"
			return
		case now.Sub(second) >= time.Second:
			second, inSecond = now, 0
		}
		m.lines++
		if inSecond++; inSecond > m.cfg.Rate && !m.cfg.Force {
			m.ended = fmt.Sprintf("there were more than %d commands within a second", m.cfg.Rate)
			return
		}
		if cut {
			m.cut++
		}
		if parsed, ok := ParseMonitorLine(line); ok {
			parsed.Cut = parsed.Cut || cut
			m.take(parsed)
		}
	}
	m.ended = fmt.Sprintf("%d commands were seen", m.lines)
}

// readMonitorLine reads a line, and of a long one only the beginning.
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

// take counts a command, and forgets its values.
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
	switch {
	case j.rule == "" && !newer:
		return
	case j.rule != "" && !j.keys || !m.passes(name, line):
	default:
		return
	}
	if line.Source == "lua" {
		m.lua[name]++
		return
	}
	line.Source = wrap.Printable(line.Source)
	if m.sources[name] == nil {
		m.sources[name] = map[string]int{}
	}
	m.sources[name][line.Source]++
}

// helloChannel is where sentinels find each other.
const helloChannel = "__sentinel__:hello"

// passes reports whether all keys of a command are where the proxy looks for them, and the
// server knows its arguments. It cannot tell for a line that was cut, nor for a script's commands.
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
	keys := make([]string, len(indices))
	for i, at := range indices {
		if keys[i] = clean(line.Args[at]); !m.cfg.ShowKeys {
			keys[i] = keyPattern(line.Args[at])
		}
	}
	text := strings.Join(keys, " ")
	if _, known := c.patterns[text]; text != "" && (known || len(c.patterns) < maxPatterns) {
		c.patterns[text]++
	}
	return false
}
