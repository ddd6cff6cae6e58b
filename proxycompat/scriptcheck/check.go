package scriptcheck

import (
	"fmt"

	"github.com/unwatch/unwatch/proxycompat"
)

// CheckScript lists the lines of a script that will fail behind this proxy, sorted; empty if there are
// none. The error is a [*SyntaxError] if the script does not parse. It is safe for concurrent use.
func CheckScript(p *proxycompat.Profile, src string) (found []Finding, err error) {
	defer func() {
		// A defect in this package must not crash the program that checks a script.
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("scriptcheck: a mistake of the checker: %v", r)
		}
	}()
	stmts, shebang, err := parseScript(src)
	if err != nil {
		return nil, err
	}
	w := &walker{target: targetOf(p), random: &variable{}, tested: map[string]bool{}}
	w.seen = map[seen]bool{}
	if shebang {
		w.newer(1, "#!", "a script that starts with #!", proxycompat.Version{Major: 7}) // EVAL scripts with flags: redis.io, eval-intro
	}
	w.script(stmts)
	if w.failed != nil {
		return nil, w.failed
	}
	return w.sorted(), nil
}
