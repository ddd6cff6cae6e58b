package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/unwatch/unwatch/integration/internal/torture"
)

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args []string
		code int
		says string // on standard error
	}{
		{[]string{"-h"}, 0, "-only NAME"},
		{[]string{"-speed", "3"}, 2, "flag provided but not defined: -speed"},
		{[]string{"redis/cut"}, 2, "want flags only"},
		{[]string{"-duration", "-3s"}, 2, "a -duration above 0"},
		{[]string{"-only", "redis/flood"}, 2, `no cell has "redis/flood" in its name; see -list`},
	} {
		var out, errs bytes.Buffer
		assert.Equal(t, test.code, run(t.Context(), test.args, &out, &errs), test.args)
		assert.Contains(t, errs.String(), test.says)
	}
}

// An interrupted run has not shown anything, whatever it has played by then.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupt"))
	var out, errs bytes.Buffer
	assert.Equal(t, 2, run(ctx, []string{"-only", "redis/cut"}, &out, &errs))
	assert.NotEmpty(t, errs.String())
}

func TestList(t *testing.T) {
	var out, errs bytes.Buffer
	assert.Equal(t, 0, run(t.Context(), []string{"-list"}, &out, &errs))
	for line := range strings.Lines(out.String()) {
		assert.LessOrEqual(t, len(line), 81, line)
	}
	for _, topology := range torture.Topologies() {
		assert.Contains(t, out.String(), "topology "+topology.Name+"\n    ")
	}
	for _, n := range torture.Nemeses() {
		assert.Contains(t, out.String(), "nemesis "+n.Name+"\n    ")
	}
	for _, i := range torture.Isolations() {
		assert.Contains(t, out.String(), "isolation "+i.Topology.Name+"/"+i.Fault+"\n    ")
	}
	for _, c := range torture.Controls() {
		assert.Contains(t, out.String(), "control "+c.Name+"\n    ")
	}
}
