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

// All that is wrong is reported at once.
func ExampleExtend_errors() {
	_, err := profilefile.Extend(nil, "rooms-proxy.yaml", []byte(`
name: rooms-proxy
base: codis
idle: 30
comands: []
commands:
  - command: OBJECT
    verdict: ok
    why: passed on since our patch
    args: two
    route: far
`))
	fmt.Println(err)
	// Output:
	// rooms-proxy.yaml:4:7: this has to be a time with its unit, as in 30m or 90s, or never, and is the number 30
	// rooms-proxy.yaml:5:1: unknown key "comands", did you mean commands?
	// rooms-proxy.yaml:7:5: no source: name the observer and the date
	// rooms-proxy.yaml:10:11: bad argument count "two": want -, 2, 2+, 2-4, 2+keys or pairs
	// rooms-proxy.yaml:11:12: bad route "far": want -, local, any, all or the index of a word
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
	// # What a Redis proxy permits, as what differs from the profile of its base.
	// # Load it with profilefile.Load("FILE"), of github.com/unwatch/unwatch/proxycompat/profilefile.
	// # Editors check it against what profilefile.Schema returns.
	// name: rooms-proxy
	// base: codis
	// commands:
	//   - command: [OBJECT, CLIENT ID]
	//     verdict: ok
	//     why: passed on since our patch
	//     source: 'observed: build 1234'
	//     args: 1+
}
