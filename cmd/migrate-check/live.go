package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/live"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

const liveUsage = `Usage: migrate-check live ADDRESS... [flags]

Looks at the servers that run now, before a proxy comes in between, counts for a
while what the proxy would refuse, and names who sends it. An ADDRESS is
HOST:PORT, or redis://USER:PASSWORD@HOST:PORT, or rediss:// for TLS, or the path
of a socket, or sentinel://HOST:PORT,HOST:PORT/NAME. Give all primaries; of a
Redis Cluster one is enough.

It never writes, and never reads a key: it asks for INFO, CLIENT LIST, ACL LOG
and CLUSTER NODES, and with -monitor for MONITOR, which costs.

`

const liveMore = `
A password is better not in an argument, where others can read it.

Exit codes, in all formats: 0 nothing was sent that the proxy refuses; 1 could
not finish, or not all was seen; 2 wrong usage; 3 something was sent.

Examples:
  migrate-check live redis:6379
  migrate-check live redis-0:6379 redis-1:6379 -for 24h -every 5s
  REDIS_PASSWORD=... migrate-check live redis:6379 -password-env REDIS_PASSWORD
  migrate-check live redis:6379 -for 1m -monitor -monitor-for 5s
  migrate-check live redis:6379 -format prometheus -o redis.prom -f
`

// liveFlags are the flags of the subcommand live.
type liveFlags struct {
	connectFlags
	profile   string
	duration  time.Duration
	every     time.Duration
	timeout   time.Duration
	format    string
	output    outputFile
	replicas  bool
	onlyThese bool
	strict    bool
	with      string
	monitor   bool
	monitored live.MonitorConfig
}

func (f *liveFlags) register(flags *flag.FlagSet) {
	f.connectFlags.register(flags)
	flags.StringVar(&f.profile, "profile", "codis", "the proxy that is to come: a `NAME`, codis@3.2 for codis over Redis 3.2, or a file ours.yaml")
	flags.DurationVar(&f.duration, "for", 10*time.Minute, "look that long")
	flags.DurationVar(&f.every, "every", time.Second, "look that often")
	flags.DurationVar(&f.timeout, "timeout", 5*time.Second, "wait that long for each answer")
	flags.StringVar(&f.format, "format", "text", "write text, json or prometheus")
	f.output.register(flags, "write to `FILE`, whole or not at all")
	flags.BoolVar(&f.replicas, "replicas", false, "judge replicas, too: their counts include MULTI, EXEC and PUBLISH of replication")
	flags.BoolVar(&f.onlyThese, "only-these", false, "do not look for the other servers of a Redis Cluster")
	flags.BoolVar(&f.strict, "strict", false, "let administration count: CONFIG, CLIENT, SLOWLOG and the like")
	flags.StringVar(&f.with, "with", "", "compare with the findings in the code, in this `FILE` of JSON objects, one a line")
	flags.BoolVar(&f.monitor, "monitor", false, "also send MONITOR, which shows keys and senders, and costs the server up to half of its throughput")
	flags.DurationVar(&f.monitored.For, "monitor-for", 10*time.Second, "end MONITOR after that long")
	flags.IntVar(&f.monitored.Lines, "monitor-lines", 10_000, "end MONITOR after `N` commands")
	flags.IntVar(&f.monitored.Rate, "monitor-rate", 5_000, "do not send MONITOR, or end it, where there are more than `N` commands a second")
	flags.BoolVar(&f.monitored.Force, "monitor-force", false, "do not look at -monitor-rate")
	flags.BoolVar(&f.monitored.ShowKeys, "show-keys", false, "show keys as they are, not as patterns")
}

// runLive watches servers for a while.
func runLive(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := newFlags("live", liveUsage, liveMore)
	var f liveFlags
	f.register(flags)
	words, code, ok := parseAll(flags, args, stdout, stderr, "ADDRESS")
	if !ok {
		return code
	}
	write, known := map[string]func(*live.Report, io.Writer) error{
		"text": (*live.Report).WriteText, "json": (*live.Report).WriteJSON, "prometheus": (*live.Report).WritePrometheus,
	}[f.format]
	if !known {
		return complain(stderr, "live", fmt.Sprintf("-format is text, json or prometheus, not %q", f.format))
	}
	addresses, cfg, err := f.config(words, os.LookupEnv)
	if err != nil {
		return complain(stderr, "live", err.Error())
	}
	static, err := f.static()
	if err == nil {
		err = f.output.try()
	}
	if err != nil {
		return complain(stderr, "live", err.Error())
	}
	cfg.Progress = progressOn(stderr)
	report, err := live.Run(ctx, addresses, cfg)
	if err != nil {
		code := fail(stderr, "live", codeIncomplete, err)
		var setup *live.SetupError
		if errors.As(err, &setup) && strings.Contains(setup.What, "password") {
			say(stderr, "The password comes from -password-env VAR or -password-file FILE.\n")
		}
		return code
	}
	if f.with != "" {
		report.Join(static)
	}
	if err := f.write(report, write, stdout); err != nil {
		return fail(stderr, "live", codeIncomplete, err)
	}
	return report.Verdict.ExitCode()
}

// config reads the files and settings of the arguments and flags.
func (f *liveFlags) config(words []string, env func(string) (string, bool)) (addresses []live.Address, cfg live.Config, err error) {
	cfg = live.Config{
		For: f.duration, Every: f.every, Timeout: f.timeout, Replicas: f.replicas, OnlyThese: f.onlyThese, Strict: f.strict,
	}
	if f.duration <= 0 || f.every <= 0 || f.timeout <= 0 {
		return nil, cfg, errors.New("-for, -every and -timeout must be above 0")
	}
	if f.every < 100*time.Millisecond {
		return nil, cfg, errors.New("-every below 100ms would be a load of its own")
	}
	if f.monitored.For <= 0 || f.monitored.Lines <= 0 || f.monitored.Rate <= 0 {
		return nil, cfg, errors.New("-monitor-for, -monitor-lines and -monitor-rate must be above 0")
	}
	if f.monitor {
		cfg.Monitor = &f.monitored
	}
	if cfg.Profile, err = profilefile.Open(f.profile); err != nil {
		return nil, cfg, err
	}
	if cfg.Profile.Server() {
		return nil, cfg, fmt.Errorf("-profile: %s is a server, and refuses nothing", f.profile)
	}
	if cfg.TLS, err = f.tlsConfig(); err != nil {
		return nil, cfg, err
	}
	for i, word := range words {
		a, err := f.address(fmt.Sprintf("ADDRESS %d", i+1), word, env)
		if err != nil {
			return nil, cfg, err
		}
		if a.DB != 0 {
			return nil, cfg, fmt.Errorf("ADDRESS %d: live counts the commands of a whole server: leave out the number of the database", i+1)
		}
		addresses = append(addresses, a)
	}
	return addresses, cfg, nil
}

// static reads the file of -with.
func (f *liveFlags) static() (live.Static, error) {
	if f.with == "" {
		return nil, nil
	}
	file, err := os.Open(f.with)
	if err != nil {
		return nil, fmt.Errorf("-with: %w", err)
	}
	static, err := live.ReadStatic(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("-with %s: %w", f.with, err)
	}
	return static, nil
}

// write writes the report.
func (f *liveFlags) write(r *live.Report, write func(*live.Report, io.Writer) error, stdout io.Writer) error {
	if f.output.name == "" {
		return write(r, stdout)
	}
	return f.output.write(func(w io.Writer) error { return write(r, w) })
}

// progressOn shows the progress on a terminal; a log gets nothing.
func progressOn(stderr io.Writer) func(live.Progress) {
	if !isTerminal(stderr) {
		return nil
	}
	return func(p live.Progress) {
		text := fmt.Sprintf("%v of %v: %d uses, %d commands; Ctrl-C ends it", p.Elapsed.Round(time.Second), p.For, p.Uses, p.Commands)
		if p.Elapsed+time.Second >= p.For {
			text = ""
		}
		say(stderr, "\r%-79.79s\r", text)
	}
}
