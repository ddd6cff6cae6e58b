package symbolic

import (
	"fmt"

	"github.com/unwatch/unwatch/proxycompat"
)

// Mistake is a mistake in the hash tag of a key.
type Mistake struct {
	What string
	// Mild marks a mistake that may be intended.
	Mild bool
}

// Mistakes lists the mistakes in the hash tag of a key, by the proxy's hash rule.
func Mistakes(p *proxycompat.Profile, key Value) (found []Mistake) {
	r := ruleOf(p)
	if !r.tags {
		return nil
	}
	_, rest, opened := cut(key, '{')
	if !opened {
		return nil
	}
	tag, _, closed := cut(rest, '}')
	text, known := tag.Known()
	symbols := len(key) > 1
	switch {
	case !closed:
		return []Mistake{{What: "the { is never shut, so it begins no hash tag"}}
	case known && text == "" && r.empty:
		return []Mistake{{What: "the hash tag is empty, which puts every such key into slot 0"}}
	case known && text == "":
		return []Mistake{{What: "the hash tag is empty, so it is none"}}
	case known && symbols:
		return []Mistake{{What: fmt.Sprintf("all keys have the hash tag {%s}, so one server has all of them", text), Mild: true}}
	}
	return nil
}
