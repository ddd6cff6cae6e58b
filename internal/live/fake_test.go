package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unwatch/unwatch/internal/resp"
)

// mayArrive lists the allowed commands independently of the code.
var mayArrive = regexp.MustCompile(`^(INFO|INFO commandstats|CLIENT LIST|CLIENT SETNAME migrate-check-live-[0-9a-z]{8}|` +
	`ACL WHOAMI|ACL LOG 1000|CLUSTER NODES|MONITOR|SENTINEL GET-MASTER-ADDR-BY-NAME [^ ]+|AUTH [^ ]+( [^ ]+)?)$`)

// fake is a server with the commands of this package. Like a real one it counts all commands,
// ours included.
type fake struct {
	mu       sync.Mutex
	fields   map[string]string
	stats    map[string]Stat
	clients  []string
	log      []Denied
	nodes    string
	deny     map[string]string // an error, by command
	down     bool              // refuses connections
	slow     time.Duration     // duration of a CLIENT LIST
	password string            // required
	hang     bool              // reads, and never replies
	received [][]string
	conns    []net.Conn
	monitors []net.Conn

	primaries map[string][2]string // of a sentinel: host and port
}

func newFake() *fake {
	return &fake{
		fields: map[string]string{
			"redis_version": "7.0.15", "run_id": "run-1", "role": "master", "master_replid": "repl-1", "redis_mode": "standalone",
		},
		stats: map[string]Stat{"GET": {Calls: 1000}, "WATCH": {Calls: 50}},
		deny:  map[string]string{},
	}
}

// fakes are servers by address.
type fakes map[string]*fake

func (f fakes) dial(_ context.Context, _, addr string) (net.Conn, error) {
	s := f[addr]
	if s == nil {
		return nil, errors.New("connection refused")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, errors.New("connection refused")
	}
	ours, theirs := net.Pipe()
	s.conns = append(s.conns, theirs)
	go s.serve(theirs)
	return ours, nil
}

func (f *fake) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	br := bufio.NewReader(conn)
	for {
		args, err := resp.ReadCommand(br, resp.Limits{})
		if err != nil {
			return
		}
		reply := f.answer(conn, args)
		if f.hangs() {
			continue
		}
		if strings.EqualFold(strings.Join(args, " "), "client list") {
			<-time.After(f.slowness())
		}
		if _, err := conn.Write(reply); err != nil {
			return
		}
	}
}

func (f *fake) answer(conn net.Conn, args []string) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !mayArrive.MatchString(strings.Join(args, " ")) { // in any test
		panic(fmt.Sprintf("%q was sent", args))
	}
	f.received = append(f.received, args)
	name := strings.ToUpper(args[0])
	if slices.Contains([]string{"CLIENT", "ACL", "CLUSTER"}, name) {
		name += " " + strings.ToUpper(args[1])
	}
	switch {
	case f.password == "":
	case name == "AUTH" && args[len(args)-1] == f.password:
		f.password = ""
	case name == "AUTH":
		return resp.AppendError(nil, "WRONGPASS invalid username-password pair or user is disabled.")
	default:
		return resp.AppendError(nil, "NOAUTH Authentication required.")
	}
	if text := f.deny[name]; text != "" {
		f.add(name, Stat{Rejected: 1})
		return resp.AppendError(nil, text)
	}
	defer f.add(name, Stat{Calls: 1}) // like a server, INFO does not count itself yet
	switch name {
	case "INFO":
		var text strings.Builder
		if len(args) == 1 {
			for _, field := range slices.Sorted(maps.Keys(f.fields)) {
				fmt.Fprintf(&text, "%s:%s\r\n", field, f.fields[field])
			}
		} else {
			text.WriteString("# Commandstats\r\n")
			for name, s := range f.stats {
				fmt.Fprintf(&text, "cmdstat_%s:calls=%d,usec=1,usec_per_call=1.00,rejected_calls=%d,failed_calls=%d\r\n",
					strings.ToLower(strings.ReplaceAll(name, " ", "|")), s.Calls, s.Rejected, s.Failed)
			}
		}
		return resp.AppendBulk(nil, text.String())
	case "CLIENT LIST":
		return resp.AppendBulk(nil, strings.Join(f.clients, "\n")+"\n")
	case "ACL LOG":
		return logReply(true, f.log...)
	case "SENTINEL":
		primary, known := f.primaries[args[2]]
		if !known {
			return []byte("*-1\r\n")
		}
		return resp.AppendBulk(resp.AppendBulk(resp.AppendArray(nil, 2), primary[0]), primary[1])
	case "ACL WHOAMI":
		return resp.AppendBulk(nil, "watcher")
	case "CLUSTER NODES":
		return resp.AppendBulk(nil, f.nodes)
	case "MONITOR":
		f.monitors = append(f.monitors, conn)
	}
	return resp.AppendStatus(nil, "OK")
}

func (f *fake) add(name string, s Stat) {
	if f.fields["redis_version"] < "7" {
		name, _, _ = strings.Cut(name, " ")
	}
	f.stats[name] = f.stats[name].plus(s)
}

// do calls change under the mutex.
func (f *fake) do(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) hangs() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hang
}

func (f *fake) slowness() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slow
}

// use counts calls by clients.
func (f *fake) use(name string, calls int64) { f.do(func() { f.add(name, Stat{Calls: calls}) }) }

// hangUp closes all connections.
func (f *fake) hangUp() {
	f.do(func() {
		for _, c := range f.conns {
			_ = c.Close()
		}
		f.conns = nil
	})
}

// show writes lines to each MONITOR.
func (f *fake) show(lines ...string) {
	f.mu.Lock()
	monitors := slices.Clone(f.monitors)
	f.mu.Unlock()
	for _, line := range lines {
		for _, c := range monitors {
			if _, err := c.Write([]byte("+1700000000.123456 " + line + "\r\n")); err != nil {
				return
			}
		}
	}
}

func clientLine(id int, name, rest string) string {
	return fmt.Sprintf("id=%d addr=10.0.0.7:%d name=%s age=5 idle=0 %s user=default lib-name=go-redis lib-ver=9.7.0", id, 40000+id, name, rest)
}
