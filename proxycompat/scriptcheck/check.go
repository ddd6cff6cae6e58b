package scriptcheck

import (
	"fmt"

	"github.com/unwatch/unwatch/proxycompat"
)

// CheckScript lists what will go wrong with a script behind this proxy, by line; nothing if
// all is well. The error, a [*SyntaxError], is for a script that does not parse. It is safe
// for concurrent use.
func CheckScript(p *proxycompat.Profile, src string) (found []Finding, err error) {
	defer func() {
		// Nobody's script may end a program that only wanted to look at it.
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("scriptcheck: a mistake of the checker: %v", r)
		}
	}()
	chunk, err := parseScript(src)
	if err != nil {
		return nil, err
	}
	w := &walker{target: targetOf(p), random: &variable{}}
	if chunk.shebang {
		w.newer(1, "#!", "a script that starts with #!", proxycompat.Version{Major: 7}) // EVAL scripts with flags: redis.io, eval-intro
	}
	w.script(chunk.stmts)
	if w.failed != nil {
		return nil, w.failed
	}
	return w.sorted(), nil
}
