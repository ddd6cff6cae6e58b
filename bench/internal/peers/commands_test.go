package peers

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/unwatch/unwatch/internal/testing/servers"
)

// Commands are counted for any division of the stream into writes.
func TestCommandsAreCounted(t *testing.T) {
	const command = "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	go func() {
		buf := make([]byte, 1024)
		for err := error(nil); err == nil; {
			_, err = far.Read(buf)
		}
	}()
	var n atomic.Int64
	conn, err := counting(&n, func(context.Context, string, string) (net.Conn, error) { return near, nil })(t.Context(), "tcp", "nowhere")
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range []string{command, command + command, command[:9], command[9:]} {
		if _, err := conn.Write([]byte(write)); err != nil {
			t.Fatal(err)
		}
	}
	if n.Load() != 4 {
		t.Errorf("%d commands, want 4", n.Load())
	}
}

// Commands of both clients are counted, and go-redis still reaches the socket.
func TestClientsCountCommands(t *testing.T) {
	server := servers.Redis(t)
	for impl, want := range map[string]int64{"watch": 5, "redsync": 4, "rueidislock": 4, "unwatch": 4} {
		var n atomic.Int64
		i, err := Open(impl, Options{Addr: server.Addr, Commands: &n})
		if err != nil {
			t.Fatal(err)
		}
		set := func(old []byte) ([]byte, error) { return append(old, 'x'), nil }
		const many = 20
		update := func(keys string) { // one for each update: rueidislock releases them later, and can miss its own release
			for n := range many {
				if err := i.Update(t.Context(), fmt.Sprint(keys, n), set); err != nil {
					t.Fatal(err)
				}
			}
		}
		update("first") // opens connections and loads scripts
		before := n.Load()
		update("then")
		if got := n.Load() - before; got < many*want-want || got > many*want+want { // releases are asynchronous
			t.Errorf("%s: %d commands in %d updates, want about %d each", impl, got, many, want)
		}
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}
	var n atomic.Int64
	rdb := Client(Options{Addr: server.Addr, Commands: &n})
	defer func() { _ = rdb.Close() }()
	conn, err := rdb.Options().Dialer(t.Context(), "tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := conn.(syscall.Conn); !ok {
		t.Error("go-redis cannot check an idle connection")
	}
	_ = conn.Close()
}
