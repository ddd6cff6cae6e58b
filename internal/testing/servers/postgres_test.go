//go:build linux

package servers

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// A replica has what the primary writes, and takes writes when it is promoted.
func TestPostgresReplica(t *testing.T) {
	t.Parallel()
	primary := Postgres(t)
	replica := PostgresReplica(t, primary)
	if says := postgresQuery(t, replica, "CREATE TABLE t ()"); !strings.Contains(says, "read-only") {
		t.Fatalf("a replica answers %q to a write", says)
	}
	postgresQuery(t, primary, "CREATE TABLE t (text text)")
	postgresQuery(t, primary, "INSERT INTO t VALUES ('it is here')")
	until(t, "the write is at the replica", func() bool {
		return strings.Contains(postgresQuery(t, replica, "SELECT text FROM t"), "it is here")
	})
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	postgresQuery(t, replica, "SELECT pg_promote()")
	if says := postgresQuery(t, replica, "INSERT INTO t VALUES ('more')"); !strings.Contains(says, "INSERT") {
		t.Fatalf("a promoted replica answers %q to a write", says)
	}
}

// A pause stalls the process of an open connection, too.
func TestPostgresPause(t *testing.T) {
	t.Parallel()
	s := Postgres(t)
	conn := postgresConn(t, s)
	if says := conn.query("SELECT 'before'"); !strings.Contains(says, "before") {
		t.Fatal(says)
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() { answer <- conn.query("SELECT 'an answer'") }()
	until(t, "the process of the connection stands still", func() bool { return stopped(t, conn.backend) })
	select {
	case text := <-answer:
		t.Fatalf("a stalled server answers %q", text)
	default:
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if text := <-answer; !strings.Contains(text, "an answer") {
		t.Fatal(text)
	}
}

// stopped reports whether a process is suspended by a signal.
func stopped(t *testing.T, pid uint32) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "\nState:\tT")
}

func postgresQuery(t *testing.T, s *Server, text string) string {
	t.Helper()
	return postgresConn(t, s).query(text)
}

// postgresClient is a minimal client.
type postgresClient struct {
	net.Conn
	backend uint32 // the id of its process
}

func postgresConn(t *testing.T, s *Server) *postgresClient {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &postgresClient{Conn: conn}
	if _, err := conn.Write(postgresStartup()); err != nil {
		t.Fatal(err)
	}
	c.answers()
	return c
}

// query returns all that a server answers, as it is sent.
func (c *postgresClient) query(text string) string {
	head := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(len(text)+5))
	if _, err := c.Write(append(append(head, text...), 0)); err != nil {
		return err.Error()
	}
	return c.answers()
}

// answers reads until the server is ready for a query.
func (c *postgresClient) answers() (all string) {
	for {
		head := make([]byte, 5)
		if _, err := io.ReadFull(c, head); err != nil {
			return err.Error()
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(c, body); err != nil {
			return err.Error()
		}
		switch head[0] {
		case 'K':
			c.backend = binary.BigEndian.Uint32(body)
		case 'Z':
			return all
		}
		all += string(body)
	}
}
