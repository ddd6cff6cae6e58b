package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// rehearsal is one run of the program.
type rehearsal struct {
	cfg            config
	stdout, stderr io.Writer
	live           bool // stderr is a terminal
	stage          *stage
	stream         []event
	began          time.Time

	legacy                   []*run      // runs of act A
	lock, unguarded, guarded *run        // runs of acts C and D, or nil
	posts                    [2]cutPosts // by postHelpers
	starting                 sync.Mutex  // of a post, until its process stops
	moves                    int         // of keys in act F
	rows                     []row
	broken                   []string // broken promises
}

// play plays all acts and returns the exit code.
func play(ctx context.Context, cfg config, stdout, stderr io.Writer) int {
	r := &rehearsal{cfg: cfg, stdout: stdout, stderr: stderr, live: terminal(stderr), began: time.Now()}
	err := r.all(ctx)
	switch {
	case ctx.Err() != nil:
		r.interrupted(err)
		return exitInterrupted
	case err != nil:
		printf(stderr, "rehearsal: %v\n", err)
		if errors.As(err, new(usage)) {
			return exitUsage
		}
		return exitBroken
	case len(r.broken) > 0:
		return exitBroken
	}
	return exitOK
}

func (r *rehearsal) all(ctx context.Context) (err error) {
	if err := r.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stage.close()) }()
	acts := []func(context.Context) error{r.actLegacy, r.actRefused, r.actSwapped, r.actStalled, r.actShadow, r.actCutover}
	for i, act := range acts {
		if strings.Contains(r.cfg.acts, "ABCDEF"[i:i+1]) {
			if err := act(ctx); err != nil && ctx.Err() == nil { // an interrupted act fails somehow
				return err
			}
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	r.closing()
	return nil
}

// open starts or reaches the servers, and prints the settings.
func (r *rehearsal) open(ctx context.Context) (err error) {
	r.line("Unwatch rehearsal: a chat service goes from WATCH to lock-guarded updates")
	r.stream = events(r.cfg.events)
	if r.stage, err = newStage(ctx, r.cfg); err != nil {
		return err
	}
	where := "No server is needed: Redis and the proxy run in this process, and the traffic is real, over loopback TCP. All acts take about " +
		"20 seconds."
	if r.stage.real {
		where = fmt.Sprintf("On real servers: Redis %s, proxy %s. All keys begin with %s, and are deleted at the end.",
			r.stage.legacy.addr, r.stage.proxy.addr, r.stage.prefix)
	}
	r.say(0, "%s Played are the first %s of %s events of a day, in %s rooms: one event is one update of a room, "+
		"which is one key. %d writers work in %d processes, each with a client of its own. After each run the "+
		"audit looks up every event, by its number, in what is stored.",
		where, count(len(r.stream)), count(maxEvents), count(len(roomsOf(r.stream))), writers, processes)
	return nil
}

// row is a row of the closing table.
type row struct {
	run           string
	acked, of     int
	lost, doubled string // "-" if it was not audited
	verdict       string
}

func (x *run) row(name, verdict string) row {
	return row{name, x.audit.Acknowledged, len(x.stream), count(len(x.audit.Lost)), count(len(x.audit.Doubled)), verdict}
}

// shown prints the result of a run that must keep its promises.
func (r *rehearsal) shown(x *run, as string) {
	verdict := "every one is there, once"
	if !x.audit.clean() {
		verdict = count(len(x.audit.Lost)) + " LOST, " + count(len(x.audit.Doubled)) + " doubled"
	}
	r.outcome(x, verdict)
	r.judged(x, as)
}

// outcome prints one line about a run.
func (r *rehearsal) outcome(x *run, verdict string) {
	r.line("   %-16s%6s acknowledged   %-26s %4.1f s", x.name, count(x.audit.Acknowledged), verdict, x.took.Seconds())
}

// judged prints the updates that were not acknowledged, and adds the run to the closing table.
func (r *rehearsal) judged(x *run, as string) {
	if n := x.failures.Load(); n > 0 {
		r.item("", "%s not acknowledged, the first: %v (event %s)", count(n), x.failed, count(x.failed.ID+1))
		r.item("", "%s", strings.ReplaceAll(x.failure.Error(), r.stage.prefix, "…"))
	}
	if n := x.audit.Unclear; n > 0 {
		r.item("", "of %s it is unknown whether they were written", count(n))
	}
	verdict, broken := "kept", x.kept()
	if len(broken) > 0 {
		verdict = "BROKEN"
	}
	r.broken = append(r.broken, broken...)
	r.rows = append(r.rows, x.row(as, verdict))
}

// closing prints the table, the result, and what to do next.
func (r *rehearsal) closing() {
	const title, columns = "── What was shown ", "   %-34s%13s%8s%9s   %s"
	r.title(title + strings.Repeat("─", wrap.Width-len([]rune(title))))
	r.line(columns, "run", "acknowledged", "lost", "doubled", "promise")
	for _, row := range r.rows {
		r.line(columns, row.run, count(row.acked), row.lost, row.doubled, row.verdict)
	}
	r.line("")
	if len(r.broken) > 0 {
		r.line("VERDICT: A PROMISE WAS BROKEN.")
		for _, b := range r.broken {
			r.say(3, "%s", b)
		}
		return
	}
	text := "VERDICT: every promise was kept."
	if r.guarded != nil && r.lock != nil {
		text = fmt.Sprintf("VERDICT: behind the proxy, each of the %s updates that lockupdate acknowledged is stored exactly once, "+
			"also through %d stalls. The control, a lock without the guard, lost %s of %s.",
			count(r.lock.audit.Acknowledged+r.guarded.audit.Acknowledged), r.guarded.stalls.count(),
			count(len(r.unguarded.audit.Lost)), count(r.unguarded.audit.Acknowledged))
	}
	if x := r.posts[1]; x.cut > 0 {
		text += fmt.Sprintf(" %d processes stopped in the middle of a Transact: no post was seen half, lost or counted twice. "+
			"Of the control, two Updates, %d were seen half.", x.cut, r.posts[0].half)
	}
	if strings.Contains(r.cfg.acts, "E") {
		text += " The shadow was quiet where nothing is wrong, and found every planted bug."
	}
	if r.moves > 0 {
		text += fmt.Sprintf(" Keys moved %s times between the legacy Redis and the proxy under load, both ways, and no update was lost.",
			count(r.moves))
	}
	r.say(0, "%s", text)
	r.line("%.1f s in all.", time.Since(r.began).Seconds())
	r.title("What to do next")
	for _, step := range steps() {
		r.line("   %s\n     %s", step[0], step[1])
	}
}

// steps returns what to do next, each with a file or a command.
func steps() [][2]string {
	return [][2]string{
		{"Read the service before and after:", "examples/rehearsal/legacy.go and examples/rehearsal/chat.go"},
		{
			"Find every WATCH in your own service, and all else that a proxy refuses:",
			"go run github.com/unwatch/unwatch/cmd/migrate-check@latest ./...",
		},
		{"Play this on servers of your own:", "go run ./examples/rehearsal -legacy redis://HOST:PORT -proxy HOST:PORT"},
		{"See a whole service migrated, commit by commit:", "docs/migration.md"},
		{"Move the data to other servers, with a way back:", "docs/cutover.md"},
	}
}

// interrupted prints the completed acts. left is the error of the cleanup, or nil.
func (r *rehearsal) interrupted(left error) {
	r.title("Interrupted. Done until then:")
	if len(r.rows) == 0 {
		r.line("   nothing yet")
	}
	for _, row := range r.rows {
		r.line("   %-31s%s of %s acknowledged, %s lost, %s doubled", row.run, count(row.acked), count(row.of), row.lost, row.doubled)
	}
	if left != nil && !errors.Is(left, context.Canceled) {
		r.say(0, "%v", left)
	} else if r.stage != nil && r.stage.real {
		r.line("All keys of this run were deleted.")
	}
}
