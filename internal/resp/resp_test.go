package resp_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
)

func reader(s string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(s), 16) }

func TestReadCommand(t *testing.T) {
	for in, want := range map[string][]string{
		"*1\r\n$4\r\nPING\r\n":                       {"PING"},
		"*2\r\n$3\r\nGET\r\n$0\r\n\r\n":              {"GET", ""},
		"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n":        {"GET", "a\r\nb"},
		"PING\r\n":                                   {"PING"},
		"  SET  a\tb \n":                             {"SET", "a", "b"},
		"\r\n\r\n*0\r\n*-1\r\nPING\r\n":              {"PING"},
		"*1\n$4\nPING\r\n":                           {"PING"},
		"SET " + strings.Repeat("k", 100) + " v\r\n": {"SET", strings.Repeat("k", 100), "v"},
	} {
		got, err := resp.ReadCommand(reader(in), resp.Limits{})
		require.NoError(t, err, "%q", in)
		assert.Equal(t, want, got, "%q", in)
	}
}

func TestReadCommandRefusesBadInput(t *testing.T) {
	lim := resp.Limits{Args: 4, Bulk: 16, Line: 64, Total: 24}
	for _, in := range []string{
		"*x\r\n", "*\r\n", "*5\r\n", "*99999999999999999999\r\n", "*1\r\n:4\r\n", "*1\r\n$-1\r\n",
		"*1\r\n$17\r\n", "*1\r\n$x\r\n", "*1\r\n\r\n", "*1\r\n$4\r\nPINGxx", "*--1\r\n",
		"*2\r\n$16\r\n0123456789abcdef\r\n$16\r\n0123456789abcdef\r\n", strings.Repeat("x", 65) + "\r\n",
	} {
		_, err := resp.ReadCommand(reader(in), lim)
		require.ErrorIs(t, err, resp.ErrProtocol, "%q", in)
		assert.Less(t, len(err.Error()), 200)
	}
}

func TestReadCommandTellsCleanEndFromCut(t *testing.T) {
	whole := string(resp.AppendCommand(nil, "SET", "key", "value"))
	_, err := resp.ReadCommand(reader(""), resp.Limits{})
	require.Equal(t, io.EOF, err)
	for i := 1; i < len(whole); i++ {
		_, err := resp.ReadCommand(reader(whole[:i]), resp.Limits{})
		require.Equal(t, io.ErrUnexpectedEOF, err, "cut at %d", i)
	}
	boom := errors.New("boom")
	_, err = resp.ReadCommand(bufio.NewReader(iotest.ErrReader(boom)), resp.Limits{})
	require.Equal(t, boom, err)
}

func TestAnnouncedLengthIsNotBelieved(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := resp.ReadCommand(reader("*1000000\r\n$500000000\r\nx"), resp.Limits{})
	require.Equal(t, io.ErrUnexpectedEOF, err)
	_, err = resp.ReadReply(nil, reader("$500000000\r\nx"), resp.Limits{})
	require.Equal(t, io.ErrUnexpectedEOF, err)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

func TestScanCommandAtEveryByte(t *testing.T) {
	whole := resp.AppendCommand(nil, "EVALSHA", "abc", "1", "k", "\r\n*1\r\n")
	for i := range whole {
		n, _, err := resp.ScanCommand(whole[:i], nil, resp.Limits{})
		require.NoError(t, err)
		require.Zero(t, n, "at %d of %d", i, len(whole))
	}
	n, args, err := resp.ScanCommand(append(whole, "*1"...), nil, resp.Limits{})
	require.NoError(t, err)
	assert.Equal(t, len(whole), n)
	assert.Equal(t, "\r\n*1\r\n", string(args[4]))
}

func TestReplies(t *testing.T) {
	for in, kind := range map[string]string{
		"+OK\r\n": "status", "-ERR no\r\n": "error", ":-42\r\n": "integer", "$-1\r\n": "nil", "*-1\r\n": "nil",
		"$0\r\n\r\n": "bulk", "$3\r\na\r\n\r\n": "bulk", "*0\r\n": "array",
		"*3\r\n:1\r\n*2\r\n$1\r\na\r\n$-1\r\n+x\r\n": "array",
		"_\r\n": "nil", "%1\r\n+a\r\n:1\r\n": "%", "|1\r\n+a\r\n+b\r\n:1\r\n": "|", ">1\r\n+a\r\n": ">", ",1.5\r\n": ",",
	} {
		got, err := resp.ReadReply([]byte("xy"), reader(in+"rest"), resp.Limits{})
		require.NoError(t, err, "%q", in)
		assert.Equal(t, "xy"+in, string(got))
		assert.Equal(t, kind, got[2:].Kind(), "%q", in)
		for i := range len(in) {
			_, err := resp.ReadReply(nil, reader(in[:i]), resp.Limits{})
			want := io.ErrUnexpectedEOF
			if i == 0 {
				want = io.EOF
			}
			require.Equal(t, want, err, "%q cut at %d", in, i)
		}
	}
	for _, in := range []string{"x\r\n", "\r\n", "$-2\r\n", "*-2\r\n", "$2\r\nabcd", "*9\r\n", "*3\r\n*3\r\n*3\r\n"} {
		_, err := resp.ReadReply(nil, reader(in), resp.Limits{Args: 5})
		require.ErrorIs(t, err, resp.ErrProtocol, "%q", in)
	}
}

func TestReplyParts(t *testing.T) {
	n, ok := resp.Reply(resp.AppendInt(nil, -7)).Int()
	assert.True(t, ok)
	assert.EqualValues(t, -7, n)
	text, ok := resp.Reply(resp.AppendError(nil, "ERR a\r\nb")).ErrorText()
	assert.True(t, ok)
	assert.Equal(t, "ERR a  b", text)
	count, raw, ok := resp.Reply(resp.AppendBulk(resp.AppendArray(nil, 1), "v")).Elements()
	assert.True(t, ok)
	assert.Equal(t, 1, count)
	assert.Equal(t, "$1\r\nv\r\n", string(raw))
	list := resp.Reply(resp.AppendInt(resp.AppendBulk(resp.AppendArray(nil, 2), "v"), 3))
	elements, ok := list.List()
	assert.True(t, ok)
	assert.Equal(t, []resp.Reply{resp.Reply("$1\r\nv\r\n"), resp.Reply(":3\r\n")}, elements)
	elements, ok = list[:len(list)-1].List()
	assert.False(t, ok, "it was cut")
	assert.Len(t, elements, 1)
	for _, r := range []resp.Reply{nil, resp.AppendNil(nil), resp.AppendStatus(nil, "OK"), {':'}, {'*'}} {
		_, ok := r.Int()
		assert.False(t, ok)
		_, ok = r.List()
		assert.False(t, ok)
		_, ok = r.ErrorText()
		assert.False(t, ok)
	}
}

// Scanning and reading a command agree, and the command can be sent again.
func FuzzCommand(f *testing.F) {
	f.Add(resp.AppendCommand(nil, "SET", "k", "v"))
	f.Add([]byte("*3\r\n$3\r\nSET\r\n$-1\r\n"))
	f.Add([]byte("PING\r\n*1\r\n$4\r\nPING\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		lim := resp.Limits{Args: 100, Bulk: 1000, Line: 100, Total: 5000}
		n, args, scanErr := resp.ScanCommand(in, nil, lim)
		got, readErr := resp.ReadCommand(bufio.NewReaderSize(bytes.NewReader(in), 16), lim)
		if n == 0 || len(args) == 0 {
			return
		}
		// ScanCommand and ReadCommand must parse the same command.
		if scanErr != nil || readErr != nil || len(got) != len(args) {
			t.Fatalf("scan %q %v, read %q %v", args, scanErr, got, readErr)
		}
		for i := range got {
			if got[i] != string(args[i]) {
				t.Fatalf("scan %q, read %q", args, got)
			}
		}
		again, err := resp.ReadCommand(bufio.NewReader(bytes.NewReader(resp.AppendCommand(nil, got...))), lim)
		if err != nil || len(again) != len(got) {
			t.Fatalf("round trip of %q: %q %v", got, again, err)
		}
	})
}

// A reply survives a round trip.
func FuzzReply(f *testing.F) {
	f.Add([]byte("*2\r\n:1\r\n$1\r\na\r\n"))
	f.Add([]byte("%1\r\n+a\r\n|1\r\n+a\r\n+b\r\n_\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		lim := resp.Limits{Args: 100, Bulk: 1000, Line: 100, Total: 5000}
		r, err := resp.ReadReply(nil, bufio.NewReaderSize(bytes.NewReader(in), 16), lim)
		if err != nil {
			return
		}
		again, err := resp.ReadReply(nil, bufio.NewReader(bytes.NewReader(r)), lim)
		if err != nil || !bytes.Equal(again, r) {
			t.Fatalf("%q does not read again as itself: %q %v", r, again, err)
		}
		_, _ = r.Int()
		_, _ = r.List()
		_, _ = r.ErrorText()
	})
}

func TestReplyText(t *testing.T) {
	for reply, want := range map[string]string{
		"+OK\r\n": "OK", "$0\r\n\r\n": "", "$5\r\na\r\nbc\r\n": "a\r\nbc", "$-1\r\n": "-", ":1\r\n": "-", "-ERR x\r\n": "-", "*0\r\n": "-",
		"": "-", "$9\r\nx\r\n": "-", "$x": "-",
	} {
		got, ok := resp.Reply(reply).Text()
		if !ok {
			got = "-"
		}
		assert.Equal(t, want, got, "%q", reply)
	}
}
