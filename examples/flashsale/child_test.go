package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

func TestChildRefusesWhatIsNoJob(t *testing.T) {
	for _, text := range []string{"", "nonsense\n", "{}\n", `{"profile":"codis","round":"third"}` + "\n"} {
		var out, errs bytes.Buffer
		assert.Equal(t, exitBroken, childMain(strings.NewReader(text), &out, &errs), text)
		assert.Contains(t, out.String(), `"err":`)
		assert.NotEmpty(t, errs.String())
	}
}

// A child whose parent is gone must not stay, and leaves no lock.
func TestChildEndsWithItsParent(t *testing.T) {
	p, err := proxytest.Start(proxytest.Config{})
	require.NoError(t, err)
	defer p.Close()
	raw, err := json.Marshal(job{
		plan: plan{1, 10, 2, 2}, Round: unwatchRound, Addr: p.Addr(), Profile: "codis", Key: "test:sale",
	})
	require.NoError(t, err)
	for _, last := range []string{"", "go\n"} { // before the sale begins, and within it
		require.NoError(t, p.Engine(0).Set("test:sale", `{"left":10}`))
		stdin, parent := io.Pipe()
		remove := p.Inject(proxytest.Fault{Command: "EVALSHA", Skip: 5, Do: func() { _ = parent.Close() }})
		var out, errs bytes.Buffer
		ended := make(chan int)
		go func() { ended <- childMain(stdin, &out, &errs) }()
		_, err = parent.Write(append(raw, "\n"+last...))
		require.NoError(t, err)
		if last == "" {
			require.NoError(t, parent.Close())
		}
		assert.Equal(t, exitOK, <-ended, errs.String())
		remove()
		assert.True(t, strings.HasSuffix(out.String(), `{"done":true}`+"\n") || last == "", out.String())
		assert.NotContains(t, p.Engine(0).Keys(), "test:sale:lock")
	}
}
