package probe_test

import (
	"context"
	"fmt"

	"github.com/unwatch/unwatch/internal/probe"
	"github.com/unwatch/unwatch/proxycompat/proxytest"
)

// What is this address, and what does that mean for a service?
func Example() {
	proxy, err := proxytest.Start(proxytest.Config{Engines: 2}) // as Codis
	if err != nil {
		panic(err)
	}
	defer proxy.Close()

	report, err := probe.Probe(context.Background(), proxy.Addr(), probe.Config{})
	if err != nil {
		fmt.Println(err) // names the remedy
		return
	}
	fmt.Println("most like:   ", report.MostLike())
	fmt.Println("WATCH:       ", report.Transactions.Watch)
	fmt.Println("MULTI:       ", report.Transactions.Multi)
	fmt.Println("scripts:     ", report.Scripts.Eval)
	fmt.Println("of two slots:", report.Scripts.TwoSlots)

	// Output:
	// most like:    codis
	// WATCH:        refused
	// MULTI:        taken apart
	// scripts:      works
	// of two slots: ignored
}
