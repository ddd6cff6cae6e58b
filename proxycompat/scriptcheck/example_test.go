package scriptcheck_test

import (
	"fmt"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/scriptcheck"
)

func ExampleCheckScript() {
	script := `
local members = redis.call('SMEMBERS', KEYS[1])
redis.call('SET', KEYS[1] .. ':size', #members, 'KEEPTTL')
return members`
	behind, err := proxycompat.Codis32().Over("3.2")
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := scriptcheck.CheckScript(behind, script)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range found {
		fmt.Println(f.Line, f.Rule, f.Command)
		fmt.Println("  " + f.Why)
	}
	// Output:
	// 3 too-new SET
	//   KEEPTTL needs Redis 6.0 or later, and the server behind is 3.2
	// 3 undeclared-key SET
	//   its key may be put together by the script, not one of KEYS, so the proxy does not see it and it may belong to another server
}
