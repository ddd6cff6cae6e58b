package probe

import (
	"context"

	"github.com/unwatch/unwatch/internal/resp"
)

// askDatabases tests, on its own connection, whether SELECT 1 selects another database.
func (p *prober) askDatabases(ctx context.Context) error {
	key := p.keys.home(0, "s")
	q := question{name: guardedSelect, args: []string{"SELECT", "1"}}
	if !p.allowed(q) {
		return nil
	}
	p.drop()
	defer p.drop()
	if _, _, err := p.do(ctx, set(key, "0")); err != nil {
		return err
	}
	p.drop()
	replies, outcome, err := p.do(ctx, q.args)
	if err != nil {
		return err
	}
	p.put(q, replies, outcome)
	p.report.Databases = finding(first(replies), outcome)
	if p.report.Databases != Works {
		return nil
	}
	there, outcome, err := p.do(ctx, []string{"GET", key})
	if err != nil || outcome != OK {
		return err
	}
	if found := finding(there[0], outcome); found != Works {
		p.report.Databases = found
	} else if there[0].Kind() != "nil" {
		p.report.Databases = Ignored
	}
	// The connection to the server may outlive ours, so select the first database again.
	_, _, err = p.do(ctx, []string{"SELECT", "0"})
	return err
}

// askTransactions sends a whole transaction in one write, so that a connection that is unexpectedly shared
// does not stay inside MULTI.
func (p *prober) askTransactions(ctx context.Context) error {
	p.drop()
	defer p.drop()
	// The transaction uses one key twice: some proxies send the second key to the server of the first.
	key := p.keys.home(0, "tm")
	multi := question{name: "MULTI", args: []string{"MULTI"}}
	if p.harmsBase(multi) {
		return nil
	}
	replies, outcome, err := p.do(ctx, multi.args, set(key, "1"), set(key, "2"), []string{"EXEC"})
	if err != nil {
		return err
	}
	p.put(multi, replies, outcome)
	p.report.Transactions.Multi = multiFinding(replies, outcome)
	if p.report.Transactions.Multi == Refuses {
		// A proxy may report the commands as refused and execute them all the same.
		if replies, outcome, err = p.do(ctx, []string{"GET", key}); err != nil {
			return err
		}
		if outcome == OK && text(replies[0]) != "" {
			p.report.Transactions.Multi = TakenApart
		}
	}
	return p.askWatch(ctx)
}

func multiFinding(replies []resp.Reply, outcome Outcome) Finding {
	if outcome != OK {
		return finding(nil, outcome)
	}
	begun, done := finding(replies[0], OK), finding(replies[3], OK)
	switch {
	case begun == NoRight || begun == Unclear:
		return begun // an outcome of MULTI alone does not describe the rest of the transaction
	case begun == Works && done == NoRight:
		return NoRight
	case begun == Works && done == Works && replies[3].Kind() == "array":
		return Works
	case begun == Works:
		return Unclear
	case finding(replies[1], OK) == Works && text(replies[1]) != "QUEUED":
		return TakenApart
	}
	return Refuses
}

// askWatch tests WATCH: EXEC must do nothing after a change of the watched key.
func (p *prober) askWatch(ctx context.Context) error {
	key := p.keys.home(0, "tw")
	q := question{name: guardedWatch, args: []string{"WATCH", key}}
	if !p.allowed(q) {
		return nil
	}
	if _, _, err := p.do(ctx, set(key, "0")); err != nil {
		return err
	}
	p.drop()
	defer p.drop() // ends the watch if it belongs to the connection
	replies, outcome, err := p.do(ctx, q.args)
	if err != nil {
		return err
	}
	p.put(q, replies, outcome)
	p.report.Transactions.Watch = finding(first(replies), outcome)
	if p.report.Transactions.Watch != Works || p.report.Transactions.Multi != Works {
		return nil
	}
	watching := p.main
	other, err := p.dial(ctx)
	if err != nil {
		return p.after(err)
	}
	defer other.Close()
	if _, outcome, err = p.on(ctx, other, set(key, "1")); err != nil || outcome != OK {
		p.report.Transactions.Watch = Unclear
		return err
	}
	replies, outcome, err = p.do(ctx, []string{"MULTI"}, set(key, "2"), []string{"EXEC"})
	if err != nil {
		return err
	}
	switch {
	case outcome != OK, p.main != watching: // the watch ended with the old connection
		p.report.Transactions.Watch = Unclear
	case replies[2].Kind() == "array":
		p.report.Transactions.Watch = Ignored
	case replies[2].Kind() != "nil":
		p.report.Transactions.Watch = Unclear
	}
	return nil
}
