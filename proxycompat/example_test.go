package proxycompat_test

import (
	"errors"
	"fmt"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/rmw"
)

func ExampleProfile_Check() {
	profile := proxycompat.Codis32()
	fmt.Println(profile.Check("SET", "k", "v", "NX", "PX", "30000"))
	err := profile.Check("WATCH", "k")
	fmt.Println(errors.Is(err, rmw.ErrUnsupported))
	var refused *proxycompat.RefusedError
	if errors.As(err, &refused) {
		fmt.Println(refused.Reason)
		fmt.Println(refused.Instead)
	}
	// Output:
	// <nil>
	// true
	// WATCH is refused, so optimistic transactions cannot work
	// a single-key compare-and-set script under a lock
}
