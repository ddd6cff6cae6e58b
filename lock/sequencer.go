package lock

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
)

// Sequencer names one holding of a lock. The holder sends it along with its requests,
// and the receiver refuses a request whose Sequencer is no longer valid: by the greatest
// Token that it has seen, or by a [Checker]. The idea and the name are those of Chubby.
type Sequencer struct {
	Name  string // of the lock
	Owner string // of the holding; no two have the same
	Token uint64 // see [Token]; 0 if the lock has no tokens
}

// SequencerOf returns the Sequencer of the innermost lock that ctx holds. Its errors are
// those of [Token], without rmw.ErrUnsupported: the Sequencer of a lock that has no
// tokens has Token 0.
func SequencerOf(ctx context.Context) (Sequencer, error) {
	held, ok := ctx.Value(ContextKey{}).(Held)
	if !ok {
		return Sequencer{}, noLock("sequencer")
	}
	return held.Sequencer(ctx)
}

// String returns the text form: the name and the owner in base64, and the token,
// separated by dots.
func (s Sequencer) String() string {
	return encoding.EncodeToString([]byte(s.Name)) + "." + encoding.EncodeToString([]byte(s.Owner)) + "." + strconv.FormatUint(s.Token, 10)
}

// MarshalText implements encoding.TextMarshaler with the form of String.
func (s Sequencer) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote, and nothing else: no two texts are one Sequencer. The error is an
// rmw.ErrInvalid.
func (s *Sequencer) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ".")
	if len(parts) != 3 {
		return invalidSequencer(text)
	}
	name, err1 := encoding.DecodeString(parts[0])
	owner, err2 := encoding.DecodeString(parts[1])
	token, err3 := strconv.ParseUint(parts[2], 10, 64)
	read := Sequencer{Name: string(name), Owner: string(owner), Token: token}
	if err1 != nil || err2 != nil || err3 != nil || read.String() != string(text) {
		return invalidSequencer(text)
	}
	*s = read
	return nil
}

var encoding = base64.RawURLEncoding.Strict()

func invalidSequencer(text []byte) error {
	return fmt.Errorf("%w: %.80q is not a sequencer; pass the text of lock.Sequencer", rmw.ErrInvalid, text)
}

// Checker is a Locker that can tell whether a Sequencer is still valid.
type Checker interface {
	// Check asks the lock service whether the lock is still held by the holder of s. It
	// returns nil if so, and rmw.ErrLockLost if not. The answer is that of the moment at
	// which the service was asked: a holder may lose its lock before the answer arrives.
	Check(ctx context.Context, s Sequencer) error
}

// Inspector is a Locker that can show locks of any holder.
type Inspector interface {
	// Inspect shows the lock name as the lock service has it. It changes nothing.
	Inspect(ctx context.Context, name string) (Info, error)
}

// Info is a lock as the lock service shows it.
type Info struct {
	Sequencer

	// Held is false for a lock that is free; then only Name is set.
	Held bool
	// Left is the time until the lease ends unless it is renewed, the lock delay
	// included. It is negative if the lease never ends, and 0 if the service does not tell.
	Left time.Duration
	// Age is the time since the holder took the lock. It is 0 if the service does not tell.
	Age time.Duration
	// Data was stored with the lock by its holder; see [WithData].
	Data []byte
	// Waiters tells that others wait for the lock. A service that does not know says no.
	Waiters bool
}

// dataKey finds the data in a ctx.
type dataKey struct{}

// WithData returns a ctx with which a Locker stores data with the locks that it takes,
// for operators to read with Inspect: who holds the lock, and what for. Data should be at
// most 1 KiB. A Locker whose Inspect shows no Data ignores it.
func WithData(ctx context.Context, data []byte) context.Context {
	return context.WithValue(ctx, dataKey{}, data)
}

// DataOf is for authors of a [Locker]. It returns the data of [WithData], or nil.
func DataOf(ctx context.Context) []byte {
	data, _ := ctx.Value(dataKey{}).([]byte)
	return data
}
