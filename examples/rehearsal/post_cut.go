package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// cut is a hook that stops a process at one of its commands, until over is closed. A stalled process stops before the command is
// sent, a killed one before the reply arrives, which is lost.
type cut struct {
	at     int64  // the command, from 1
	prefix string // of the keys of the commands that count; those of the index of all processes do not
	kills  bool

	sent           atomic.Int64
	happened, over chan struct{}
}

// errKilled is the error of a command without a reply.
var errKilled = errors.New("the process was killed")

// DialHook implements redis.Hook.
func (c *cut) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (c *cut) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return c.write(cmd, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook implements redis.Hook. Between the commands of a pipeline the process can stop, too.
func (c *cut) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (err error) {
		for _, cmd := range cmds {
			err = cmp.Or(err, c.write(cmd, func() error { return next(ctx, []redis.Cmder{cmd}) }))
		}
		return err
	}
}

func (c *cut) write(cmd redis.Cmder, send func() error) error {
	c.wait()
	now := strings.Contains(commandOf(cmd).key, c.prefix) && c.sent.Add(1) == c.at
	if now && !c.kills {
		close(c.happened)
		c.wait()
	}
	err := send()
	if now && c.kills {
		close(c.happened)
		err = errKilled
		cmd.SetErr(err)
	}
	c.wait()
	return err
}

// wait returns at once unless the process is stopped.
func (c *cut) wait() {
	select {
	case <-c.happened:
		<-c.over
	default:
	}
}

// postHelper is a way to post to two keys.
type postHelper struct {
	name     string
	commands int // of a post without contention
	post     func(ctx context.Context, c chat, room, text string) error
}

var postHelpers = []postHelper{
	{"two Updates", 8, func(ctx context.Context, c chat, room, text string) error { // the control
		_, _, err := c.last.Edit(ctx, c.key("last", room), func(_ context.Context, last *string, _ bool) error {
			*last = text
			return nil
		})
		if err == nil {
			_, _, err = c.posts.Edit(ctx, c.key("posts", room), func(_ context.Context, posts *int, _ bool) error {
				*posts++
				return nil
			})
		}
		return err
	}},
	{"Transact", 6, func(ctx context.Context, c chat, room, text string) error { return c.post(ctx, room, text) }},
}

// cutPost is a post of a process that was stopped in the middle.
type cutPost struct {
	cut            bool
	answered       bool // before it was killed, or when it went on
	seen, stored   pair // by another process, and at the end
	text           string
	posts, counted int // acknowledged messages, and those that the store counts
}

// half reports whether one key was written without the other.
func (x cutPost) half() bool {
	return x.seen != pair{"hello", "1"} && x.seen != pair{"world", "2"} ||
		x.stored.last != "world" && x.stored.last != x.text
}

// stopPost stops a process at one of the commands of its post. Another process reads both keys, and posts: the
// message without an answer again, or, during a stall, one of its own.
func (r *rehearsal) stopPost(ctx context.Context, h postHelper, at int, kills bool) (x cutPost, err error) {
	room, part := r.stream[0].Room, fmt.Sprintf("post:%s:%v:%d:", h.name, kills, at)
	prefix := r.stage.prefix + "c:" + part
	// The lease is as long as a Transact waits for another one. A stall is no outage.
	p := onLock(r.stage.proxy, h.name, lockupdate.Config{Lease: time.Second, MaxOutage: patient})
	start := func(hooks ...redis.Hook) (store, chat, func()) {
		rdb := p.on.client(&traffic{}, hooks...)
		s := p.open(rdb)
		return s, newChat(s, prefix), closing(s, rdb)
	}
	c := &cut{at: int64(at), prefix: prefix, kills: kills, happened: make(chan struct{}), over: make(chan struct{})}
	r.starting.Lock()
	_, first, closeFirst := start()
	err = h.post(ctx, first, room, "hello")
	closeFirst()
	s, victim, closeVictim := start(c)
	err = cmp.Or(err, h.post(ctx, newChat(s, r.stage.prefix+"warm:"+part), room, "hello")) // opens connections, loads scripts
	alive, kill := context.WithCancel(ctx)
	defer kill()
	answer := make(chan error, 1)
	go func() { answer <- h.post(alive, victim, room, "world") }()
	select {
	case <-c.happened:
		x.cut = true
	case <-ctx.Done():
	case <-time.After(alone):
	}
	r.starting.Unlock()
	goOn := sync.OnceFunc(func() { close(c.over) })
	defer closeVictim()
	defer goOn() // a killed process cleans up after the audit
	if x.text = "again"; kills {
		kill()
		x.text, x.answered = "world", <-answer == nil
	}
	s, other, closeOther := start()
	read := func() (p pair, err error) {
		v, err := rmw.ReadAll(ctx, s, other.key("last", room), other.key("posts", room))
		if err == nil {
			p = pair{v[0].Text(), v[1].Text()}
		}
		return p, err
	}
	var bad error
	if x.seen, bad = read(); bad == nil && !x.answered {
		bad = h.post(ctx, other, room, x.text)
	}
	err = cmp.Or(err, bad)
	if x.posts = 2; !kills {
		goOn()
		x.posts, err = 3, cmp.Or(err, <-answer)
		closeVictim() // waits for all that goes on behind the answer
	}
	_, bad = read() // opens a key that a late command has sealed
	closeOther()
	if err = cmp.Or(err, bad); err == nil {
		reader := r.stage.proxy.client(&traffic{})
		defer closing(reader)()
		if x.stored, err = pairOf(ctx, reader, prefix, room); err == nil {
			x.counted, err = strconv.Atoi(x.stored.posts)
		}
	}
	return x, err
}

// cutPosts is what came of all posts by one helper.
type cutPosts struct {
	all                      []cutPost // first those of killed processes, by the command
	cut, half, lost, doubled int
	row                      row
}

// stopPosts stops many processes, each in another room.
func (r *rehearsal) stopPosts(ctx context.Context, h postHelper) (x cutPosts, err error) {
	x.all, x.row = make([]cutPost, 2*h.commands), row{run: "C  post, " + h.name + ", stopped", verdict: "none given"}
	errs := make([]error, len(x.all))
	var rooms sync.WaitGroup
	for i := range x.all {
		rooms.Go(func() { x.all[i], errs[i] = r.stopPost(ctx, h, i%h.commands+1, i < h.commands) })
	}
	rooms.Wait()
	for _, p := range x.all {
		if p.cut {
			x.cut++
		}
		if p.half() {
			x.half++
		}
		x.lost += max(p.posts-p.counted, 0)
		x.doubled += max(p.counted-p.posts, 0)
		x.row.acked += p.posts
	}
	x.row.of, x.row.lost, x.row.doubled = x.row.acked, count(x.lost), count(x.doubled)
	return x, errors.Join(errs...)
}

// actPosts has processes stop in the middle of a post.
func (r *rehearsal) actPosts(ctx context.Context) error {
	r.line("")
	r.say(3, "The post helper again. In chat.go it is one Transact of both keys; the control is two Updates. Processes stop, one at each "+
		"command of a post. Killed, they get no reply, and send nothing more. Stalled, they send that command late: once "+
		"another process has posted. The other process first reads both keys, and repeats a post without an answer.")
	var helpers sync.WaitGroup
	errs := make([]error, len(postHelpers))
	for i, h := range postHelpers {
		helpers.Go(func() { r.posts[i], errs[i] = r.stopPosts(ctx, h) })
	}
	helpers.Wait()
	if err := errors.Join(errs...); err != nil || ctx.Err() != nil {
		return err
	}
	r.judgePosts(&r.posts[1])
	for i, h := range postHelpers {
		r.showPosts(h.name, r.posts[i])
		r.rows = append(r.rows, r.posts[i].row)
	}
	if r.posts[0].half == 0 {
		r.item("", "the control was seen half in no case, so this has shown nothing")
	}
	return nil
}

// showPosts prints the first killed process that left neither key, one key or both, and the count of all.
func (r *rehearsal) showPosts(name string, x cutPosts) {
	shown := map[string]bool{}
	for i, p := range x.all[:len(x.all)/2] {
		left := "both keys"
		switch {
		case p.seen == pair{"hello", "1"}:
			left = "no key"
		case p.half():
			left = "ONE KEY"
		}
		if shown[left] || !p.cut || p.answered {
			continue
		}
		shown[left] = true
		r.pair(name, "killed", p.seen, fmt.Sprintf("at command %d: %s", i+1, left))
		if name = ""; left == "both keys" {
			r.pair("", "retried", p.stored, "one post, counted "+map[int]string{2: "once", 3: "twice"}[p.counted])
		}
	}
	r.item("", "%d stopped: %d posts seen half, %d lost, %d doubled", x.cut, x.half, x.lost, x.doubled)
}

// judgePosts adds the promises that were broken.
func (r *rehearsal) judgePosts(x *cutPosts) {
	x.row.verdict = "kept"
	for n, what := range map[int]string{x.half: "seen half", x.lost: "lost", x.doubled: "counted twice"} {
		if n > 0 {
			x.row.verdict = "BROKEN"
			r.broken = append(r.broken, fmt.Sprintf("post: %d %s", n, what))
		}
	}
}
