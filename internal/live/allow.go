package live

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
)

// ErrNotAllowed is the error for a command that this package must not send.
var ErrNotAllowed = errors.New("live: command is not on the list of allowed commands")

// allowed reports whether this package may send a command. The list is complete. None of the
// commands reads or writes a key, and only MONITOR, which is opt-in, slows a server down.
func allowed(args []string) bool {
	if len(args) == 0 {
		return false
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = strings.ToUpper(arg)
	}
	is := func(want ...string) bool { return slices.Equal(words, want) }
	begins := func(want ...string) bool { return len(words) == 3 && slices.Equal(words[:2], want) }
	switch {
	case words[0] == "AUTH":
		return len(args) == 2 || len(args) == 3
	case begins("CLIENT", "SETNAME"):
		return strings.HasPrefix(args[2], ownName)
	case begins("ACL", "LOG"): // ACL LOG RESET would delete the entries of others
		_, err := strconv.ParseUint(words[2], 10, 16)
		return err == nil
	case begins("SENTINEL", "GET-MASTER-ADDR-BY-NAME"):
		return true
	}
	return is("INFO") || is("INFO", "COMMANDSTATS") || is("CLIENT", "LIST") || is("ACL", "WHOAMI") ||
		is("CLUSTER", "NODES") || is("MONITOR")
}

// ownName is the prefix of the names of our connections.
const ownName = "migrate-check-live-"

// guard is a connection that sends allowed commands only. It checks the bytes themselves, so that
// no other mistake can bypass it.
type guard struct{ net.Conn }

// Write implements net.Conn.
func (g guard) Write(p []byte) (int, error) {
	var words [][]byte
	for rest := p; len(rest) > 0; {
		var n int
		var err error
		n, words, err = resp.ScanCommand(rest, words, resp.Limits{})
		if err != nil || n == 0 {
			return 0, fmt.Errorf("%w: malformed command", ErrNotAllowed)
		}
		args := make([]string, len(words))
		for i, w := range words {
			args[i] = string(w)
		}
		if !allowed(args) { // the error has no words: they may be secret
			return 0, ErrNotAllowed
		}
		rest = rest[n:]
	}
	return g.Conn.Write(p)
}
