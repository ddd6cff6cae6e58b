package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// Who waits is told what for, also where a single step takes long, and a short run says nothing.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out)
		p.say("reading")
		time.Sleep(19 * time.Second)
		p.say("looking")
		assert.Empty(t, out.String())
		time.Sleep(30 * time.Second)
		p.say("following")
		time.Sleep(2 * time.Second)
		p.end()
		p.say("nothing")
		time.Sleep(time.Hour)
		assert.Equal(t, "20 s: looking\n40 s: looking\n49 s: following\n", out.String())
	})
}

func TestProgressOnTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := newProgress(&out)
		p.patience = patienceOnTerminal
		p.say("reading")
		time.Sleep(1500 * time.Millisecond)
		p.say("looking")
		time.Sleep(25 * time.Second)
		p.end()
		assert.Equal(t, "1 s: reading\n2 s: looking\n21 s: looking\n", out.String())
	})
}
