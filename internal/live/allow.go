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

// ErrNotAllowed is why something did not leave: it is none of the few commands that a
// look at a server needs.
var ErrNotAllowed = errors.New("live: not one of the commands that may be sent")

// allowed reports whether the command is one of those that this package may send. It is
// the whole list: none of them reads or writes a key, and none has an effect on others,
// but for the price of MONITOR, which is opt-in.
func allowed(args []string) bool {
	if len(args) == 0 {
		return false
	}
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = strings.ToUpper(arg)
	}
	is := func(want ...string) bool { return slices.Equal(words, want) }
	switch words[0] {
	case "AUTH":
		return len(args) == 2 || len(args) == 3
	case "CLIENT":
		return is("CLIENT", "LIST") || len(words) == 3 && words[1] == "SETNAME" && strings.HasPrefix(args[2], ownName)
	case "ACL":
		if len(words) == 3 && words[1] == "LOG" { // ACL LOG RESET takes away what others need
			_, err := strconv.ParseUint(words[2], 10, 16)
			return err == nil
		}
		return is("ACL", "WHOAMI")
	}
	if words[0] == "SENTINEL" { // for nothing but where a primary is
		return len(words) == 3 && words[1] == "GET-MASTER-ADDR-BY-NAME"
	}
	return is("INFO") || is("INFO", "COMMANDSTATS") || is("CLUSTER", "NODES") || is("MONITOR")
}

// ownName is how the names begin that the connections of this package give themselves.
const ownName = "migrate-check-live-"

// guard is a connection on which nothing leaves but whole commands of the list. It looks
// at the bytes themselves, so that no other mistake can get around it.
type guard struct{ net.Conn }

// Write implements net.Conn.
func (g guard) Write(p []byte) (int, error) {
	var words [][]byte
	for rest := p; len(rest) > 0; {
		var n int
		var err error
		n, words, err = resp.ScanCommand(rest, words, resp.Limits{})
		if err != nil || n == 0 {
			return 0, fmt.Errorf("%w: bytes that are no command", ErrNotAllowed)
		}
		args := make([]string, len(words))
		for i, w := range words {
			args[i] = string(w)
		}
		if !allowed(args) { // its words are not shown: they might be anything
			return 0, ErrNotAllowed
		}
		rest = rest[n:]
	}
	return g.Conn.Write(p)
}
