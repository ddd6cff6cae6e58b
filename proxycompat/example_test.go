package proxycompat_test

import (
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

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

func ExampleRoundRobinDialer() {
	profile, proxies := proxycompat.Codis32(), []string{"codis-0:19000", "codis-1:19000"}
	// snippet:proxies
	options := proxycompat.Options(profile, proxies[0])
	options.Dialer = proxycompat.RoundRobinDialer(options.Dialer, proxies...)
	rdb := redis.NewClient(options)
	// endsnippet
	fmt.Println(rdb.Close())
	// Output: <nil>
}
