package profilefile_test

import (
	"fmt"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/profilefile"
)

func ExampleExtend() {
	profile, err := profilefile.Extend(nil, "rooms-proxy.yaml", []byte(`
name: rooms-proxy
base: codis
backend: "6.2"
refusal: ERR '%s' is not allowed here
commands:
  - command: OBJECT
    verdict: ok
    why: passed on since our patch
    source: "observed: build 1234 over Redis 6.2"
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(profile.Name(), profile.Backend())
	fmt.Println(profile.Check("OBJECT", "ENCODING", "room:7"))
	fmt.Println(profile.RefusalText("WATCH"))
	// Output:
	// rooms-proxy 6.2
	// <nil>
	// ERR 'WATCH' is not allowed here
}

func ExampleExtend_errors() {
	_, err := profilefile.Extend(nil, "rooms-proxy.yaml", []byte(`
name: rooms-proxy
base: codis
commands:
  - command: OBJECT
    verdict: ok
    why: passed on since our patch
    source: our code
    route: far
`))
	fmt.Println(err)
	// Output:
	// rooms-proxy.yaml:5: proxycompat: rule 1: bad route "far": want -, local, any, all, replica or the index of a word
}

func ExampleMarshal() {
	data, err := profilefile.Marshal("rooms-proxy", proxycompat.Codis32(), []proxycompat.RuleChange{{
		Commands: []string{"OBJECT", "CLIENT ID"}, Verdict: "ok", Args: "1+",
		Why: "passed on since our patch", Source: "observed: build 1234",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(data))
	// Output:
	// # The commands that a Redis proxy permits: the differences from the profile of its base.
	// # Load it with profilefile.Load("FILE"), of github.com/unwatch/unwatch/proxycompat/profilefile.
	// base: codis
	// name: rooms-proxy
	// commands:
	//   - command: [OBJECT, CLIENT ID]
	//     verdict: ok
	//     why: passed on since our patch
	//     source: 'observed: build 1234'
	//     args: 1+
}
