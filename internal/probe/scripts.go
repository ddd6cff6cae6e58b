package probe

import (
	"context"
	"strconv"

	"github.com/unwatch/unwatch/internal/resp"
)

// pairs is the number of key pairs for a test of two keys: two keys can be on one server by chance.
const pairs = 16

// cacheKeys is the number of keys that search for servers with their own script cache.
const cacheKeys = 256

// askScripts tests scripts.
func (p *prober) askScripts(ctx context.Context) error {
	s := &p.report.Scripts
	key := p.keys.home(0, "script")
	if _, _, err := p.do(ctx, set(key, "1")); err != nil {
		return err
	}
	var err error
	if s.Eval, err = p.find(ctx, "EVAL", scriptGet, "1", key); err != nil || s.Eval != Works {
		return err
	}
	if s.EvalSHA, err = p.find(ctx, "EVALSHA", shaOf(scriptGet), "1", key); err != nil {
		return err
	}
	if s.NoKey, err = p.find(ctx, "EVAL", scriptOne, "0"); err != nil {
		return err
	}
	// The keys differ in more than the tag: some proxies hash keys that differ only in their last byte to
	// one server, with or without a tag.
	tagged := func(i int) (string, string) { return p.keys.home(i, newTag()), p.keys.home(i, newTag()) }
	if s.OneTag, err = p.askPairs(ctx, tagged); err != nil {
		return err
	}
	loose := func(i int) (string, string) { return p.keys.home(i, newTag()), p.keys.home(i+1, newTag()) }
	if s.TwoSlots, err = p.askPairs(ctx, loose); err != nil {
		return err
	}
	switch {
	case s.OneTag == Works && (s.TwoSlots == Ignored || s.TwoSlots == Refuses || s.TwoSlots == Disconnects):
		s.HashTags = Works
	case s.OneTag == Works:
		s.HashTags = Unclear // any two keys are together, or there was no answer
	default:
		s.HashTags = s.OneTag
	}
	return p.askCaches(ctx)
}

// find sends one command, and returns the finding.
func (p *prober) find(ctx context.Context, command ...string) (Finding, error) {
	replies, outcome, err := p.do(ctx, command)
	if err != nil {
		return NotAsked, err
	}
	return finding(first(replies), outcome), nil
}

// askPairs runs a script that writes two keys, and reads the second through the proxy. The read is a
// script, since a replica may answer GET.
func (p *prober) askPairs(ctx context.Context, pair func(int) (string, string)) (Finding, error) {
	result := Works
	for i := range min(pairs, len(p.keys.homes)) {
		a, b := pair(i)
		wrote, err := p.find(ctx, "EVAL", scriptSetTwo, "2", a, b, "probe", lifetimeText())
		if err != nil || wrote != Works {
			return wrote, err
		}
		replies, outcome, err := p.do(ctx, []string{"EVAL", scriptGet, "1", b})
		if err != nil {
			return NotAsked, err
		}
		if found := finding(first(replies), outcome); found != Works {
			return found, nil
		}
		if text(replies[0]) != "probe" {
			result = Ignored
		}
		if _, _, err := p.do(ctx, []string{"EVAL", scriptDelTwo, "2", a, b}); err != nil {
			return NotAsked, err
		}
	}
	return result, nil
}

// askCaches counts the servers without a script that another one has. The script is new, so that no earlier
// probe can have loaded it.
func (p *prober) askCaches(ctx context.Context) error {
	script := "return '" + newTag() + "'"
	sha := shaOf(script)
	ask := make([]string, cacheKeys)
	for i := range ask {
		ask[i] = p.keys.loose()
	}
	known := map[string]bool{}
	for len(ask) > 0 && p.report.Scripts.Caches < cacheKeys {
		commands := make([][]string, len(ask))
		for i, key := range ask {
			commands[i] = []string{"EVALSHA", sha, "1", key}
		}
		replies, outcome, err := p.do(ctx, commands...)
		if err == nil && outcome != OK && p.report.Scripts.Caches == 1 {
			p.report.Scripts.Caches = 0 // other servers were asked, and have not answered
		}
		if err != nil || outcome != OK {
			return err
		}
		var lacking []string
		for i, reply := range replies {
			switch text, failed := reply.ErrorText(); {
			case !failed:
				known[ask[i]] = true
			case resp.MeaningOf(text) == resp.NoScript:
				lacking = append(lacking, ask[i])
			}
		}
		p.report.Scripts.Keys = len(known) + len(lacking)
		if len(lacking) == 0 {
			return nil
		}
		if taught, err := p.find(ctx, "EVAL", script, "1", lacking[0]); err != nil || taught != Works {
			return err
		}
		p.report.Scripts.Caches++
		ask = lacking[1:]
		known[lacking[0]] = true
	}
	return nil
}

// askCompareAndSet tests for each command whether it compares and sets: once with the right value, and once
// with a wrong one.
func (p *prober) askCompareAndSet(ctx context.Context) error {
	c := &p.report.CompareAndSet
	px := lifetimeText()
	for i, form := range []struct {
		into    *Finding
		command func(key, old, value string) []string
		deletes bool
	}{
		{&c.SetIFEQ, func(k, old, v string) []string { return []string{"SET", k, v, "IFEQ", old, "PX", px} }, false},
		{&c.DelEX, func(k, old, _ string) []string { return []string{"DELEX", k, "IFEQ", old} }, true},
		{&c.DelIFEQ, func(k, old, _ string) []string { return []string{"DELIFEQ", k, old} }, true},
		{&c.SetVX, func(k, old, v string) []string { return []string{"SET", k, v, "VX", old, "PX", px} }, false},
		{&c.DelVX, func(k, old, _ string) []string { return []string{"DELVX", k, old} }, true},
		{&c.CAS, func(k, old, v string) []string { return []string{"CAS", k, old, v, "PX", px} }, false},
		{&c.CAD, func(k, old, _ string) []string { return []string{"CAD", k, old} }, true},
	} {
		key := p.keys.home(i, "cas"+strconv.Itoa(i))
		if p.harmsBase(question{args: form.command(key, "a", "b")}) {
			continue
		}
		if _, _, err := p.do(ctx, set(key, "old")); err != nil {
			return err
		}
		// The wrong value comes first: a server that ignores the condition would write.
		wrong, outcome, err := p.do(ctx, form.command(key, "other", "bad"))
		if err != nil {
			return err
		}
		if *form.into = finding(first(wrong), outcome); *form.into != Works {
			continue
		}
		right, outcome, err := p.do(ctx, form.command(key, "old", "new"))
		if err != nil {
			return err
		}
		if *form.into = finding(first(right), outcome); *form.into == Works && string(right[0]) == string(wrong[0]) {
			*form.into = Ignored // the answer is inconclusive
		}
	}
	return nil
}

// isSet reports whether SET succeeded.
func isSet(r resp.Reply) bool { return text(r) == "OK" }
