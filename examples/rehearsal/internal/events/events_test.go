package events

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	got, err := Read(strings.NewReader("\ufeff"+`{"room":"a","op":"join","member":"m"}`+"\r\n\n  \n"+
		`{"op":"post","member":"ü {x}","room":"a b","at":"09:00:00","more":[1]}`), "f")
	require.NoError(t, err)
	require.Equal(t, []Event{
		{Room: "a", Op: "join", Member: "m"},
		{Room: "a b", Op: "post", Member: "ü {x}", At: "09:00:00"},
	}, got)
}

func TestReadRefuses(t *testing.T) {
	const good = `{"room":"a","op":"join","member":"m"}` + "\n"
	long := strings.Repeat("x", 200)
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "f: no events in it"},
		{"only blank lines", "\n\n", "f: no events in it"},
		{"not JSON", good + "join a m", "f:2: not a JSON object: \"join a m\""},
		{"an array", good + `["a"]`, "f:2: not a JSON object"},
		{"cut off", good + good + `{"room":"a",`, "f:3: not an event: unexpected end of JSON input"},
		{"two on a line", good + strings.TrimSpace(good) + good, "f:2: not an event: invalid character '{'"},
		{"wrong type", `{"room":7,"op":"join","member":"m"}`, "f:1: not an event: cannot unmarshal number"},
		{"no op", `{"room":"a","member":"m"}`, `f:1: no "op"; use one of join, leave, post, react`},
		{"unknown op", `{"room":"a","op":"ban","member":"m"}`, `f:1: unknown op "ban"; use one of`},
		{"huge op", `{"room":"a","op":"` + long + `","member":"m"}`, "f:1: unknown op \"xxxxxxxxxxxxxxxxxxxxxx…;"},
		{"no room", `{"op":"join","member":"m"}`, `f:1: no "room"`},
		{"no member", "\n" + `{"op":"join","room":"a"}`, `f:2: no "member"`},
		{"long room", `{"room":"` + long + `","op":"join","member":"m"}`, `f:1: "room" has 200 bytes, at most 128`},
		{"control character", `{"room":"a\u001b[2J","op":"join","member":"m"}`, `f:1: "room" has characters that cannot be printed`},
		{"bad UTF-8", "{\"room\":\"a\xff\",\"op\":\"join\",\"member\":\"m\"}", `f:1: "room" has characters that cannot be printed`},
		{"huge line", good + `{"room":"` + strings.Repeat("x", maxLine), "f:2: longer than 65536 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(tt.text), "f")
			require.Error(t, err)
			assert.Nil(t, got)
			assert.Contains(t, err.Error(), tt.want)
			assert.ErrorAs(t, err, new(*Error))
		})
	}
}

func TestReadPassesReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := Read(iotest.ErrReader(broken), "f")
	require.ErrorIs(t, err, broken)
}
