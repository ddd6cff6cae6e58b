package seal

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/keyhash"
	"github.com/unwatch/unwatch/rmw"
)

//go:embed lua
var sources embed.FS

// Magic is the first word of each mark, also in the scripts of package cutover.
const Magic = "~unwatch:9f2c4e7b"

// Script is a Lua script on one key.
type Script struct{ Name, Source string }

func script(name string) *Script {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // no such file
	}
	return &Script{name, string(text)}
}

// The scripts: they take a key, open it, look at it, ask for a decision, and list names.
var (
	Take = script("take")
	Open = script("open")
	Look = script("look")
	Ask  = script("decided")
	List = script("list")
)

// MaxBytes is the greatest size of a value that can be sealed.
const MaxBytes = rmw.MaxTxBytes

// Call is a script on one key.
type Call struct {
	Script *Script
	Key    string
	Args   []any

	Reply any
	Err   error // also an error reply
}

// Check is what Take checks before it replaces a value.
type Check int32

// The checks.
const (
	CheckAll  Check = iota // that the rights suffice, and that no slot moves
	CheckSlot              // that the slot does not move: enough for a server of a Redis Cluster that has permitted a take
	CheckNone              // enough for any other server that has permitted one
)

// TakeArgs returns the arguments of Take.
func TakeArgs(key rmw.Key, nonce, decision string, c Check) []any {
	return []any{nonce, decision, key.Kind.String(), keyhash.Slot(key.Name), MaxBytes, int(CheckNone - c)}
}

// OpenArgs returns the arguments of Open.
func OpenArgs(n Next) []any {
	args := []any{n.Nonce, keyhash.Slot(n.Key)}
	switch {
	case n.Kept:
		return append(args, "base", "keep")
	case !n.Value.Exists():
		return append(args, "none", "keep")
	}
	expiry := "keep"
	switch {
	case n.TTL < 0:
		expiry = "none"
	case n.TTL > 0:
		expiry = strconv.FormatInt(n.TTL.Milliseconds(), 10)
	}
	args = append(args, n.Value.Kind().String(), expiry)
	if n.Value.Kind() == rmw.KindString {
		return append(args, n.Value.Text())
	}
	for name, value := range n.Value.All() {
		args = append(args, name, value)
	}
	return args
}

// Met is a mark on a key: a seal, or the marker of a move.
type Met struct {
	State    string // "tx" is a seal; "open" is none
	Nonce    string
	Decision string // the key of the decision

	// What Look tells besides.
	Type  string        // of the value, as the command TYPE names it
	Value rmw.Value     // that the seal holds
	Left  time.Duration // to live, of this value: 0 if it has expired, negative if it has no expiry
}

// ID returns the id of the update, without the number of the seal.
func (m Met) ID() string { return IDOf(m.Nonce) }

// IDOf returns the id of the update that has made the seal.
func IDOf(nonce string) string {
	id, _, _ := strings.Cut(nonce, "/")
	return id
}

// Check returns an error if the mark is not a seal that this build knows.
func (m Met) Check() error {
	switch {
	case m.State == "sealed" || m.State == "away":
		return ErrMoved
	case m.State == "":
		return errSeal
	case m.State != "tx":
		return fmt.Errorf("%w: the key has a mark in the state %.16q, which this build does not know; deploy the newer build here as well",
			rmw.ErrUnsupported, m.State)
	case m.Nonce == "" || !strings.HasPrefix(m.Decision, DecisionPrefix):
		return errSeal
	}
	return nil
}

// ErrMoved is the error of a key with the marker of a move.
var ErrMoved = fmt.Errorf("%w: the key is moved to another store, or was; update it by package cutover, as every process must", rmw.ErrWrongKind)

// Holds returns an error if an open key holds a value of another kind.
func (m Met) Holds(kind rmw.Kind) error {
	if m.Type == "none" || m.Type == kind.String() {
		return nil
	}
	return fmt.Errorf("%w: the key holds a %s, the Key is of Kind %v", rmw.ErrWrongKind, m.Type, kind)
}

var errSeal = fmt.Errorf("%w: the mark of an update of several keys, or of a move, is damaged: another program has changed it, such as by LPOP or LTRIM; "+
	"stop that program, read the rest with LRANGE, and write the right value", rmw.ErrWrongKind)

// Met reads the reply of Look.
func (c *Call) Met() (Met, error) {
	if c.Err != nil {
		return Met{}, c.Err
	}
	return parseLook(c.Reply)
}

// parseLook reads the reply of Look.
func parseLook(reply any) (m Met, err error) {
	list, _ := reply.([]any)
	words := make([]string, len(list))
	for i, r := range list {
		switch r := r.(type) {
		case string:
			words[i] = r
		case int64:
			words[i] = strconv.FormatInt(r, 10)
		}
	}
	switch {
	case len(words) == 2 && words[0] == "open":
		return Met{State: "open", Type: words[1]}, nil
	case len(words) < 5:
		return Met{}, fmt.Errorf("%w: the reply of the script look is a %T of %d elements, which it never gives", rmw.ErrUnsupported, reply, len(words))
	}
	m = Met{State: words[0], Nonce: words[1], Decision: words[2], Type: words[3], Left: -1}
	if ms, err := strconv.ParseInt(words[4], 10, 64); err == nil && ms >= 0 {
		m.Left = time.Duration(ms) * time.Millisecond
	}
	value := words[5:]
	switch {
	case m.State != "tx" || m.Type == "none" && len(value) == 0:
	case m.Type == "string" && len(value) == 1:
		m.Value = rmw.String(value[0])
	case m.Type == "hash" && len(value) > 0 && len(value)%2 == 0:
		fields := make(map[string]string, len(value)/2)
		for i := 0; i < len(value); i += 2 {
			fields[value[i]] = value[i+1]
		}
		m.Value = rmw.Hash(fields)
	default:
		return m, errSeal
	}
	return m, nil
}

// Patience is how long a process that wants to write waits for the decision of an update before it aborts it.
const Patience = time.Second
