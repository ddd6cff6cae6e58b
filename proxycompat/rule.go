package proxycompat

import (
	"fmt"
	"strconv"
	"strings"
)

// Rule is what a profile knows about one command.
type Rule struct {
	Command string // upper case; "*" is the rule for every command that has none
	Verdict Verdict
	Why     string // what happens, one sentence
	Instead string // what to send instead; may be empty
	Source  string // where it is known from: a source file, or an observation with versions

	args  argCount // how many arguments the proxy itself insists on
	keys  keySpec  // where the keys are
	route int      // which argument the proxy routes by
}

// Route returns the index in args of the word that the proxy routes this
// command by, args[0] being the command; -1 if args has no such word.
func (r Rule) Route(args []string) int {
	if r.route <= 0 || r.route >= len(args) {
		return -1
	}
	return r.route
}

// Keys returns the indices in args of the keys, as far as the rule knows where
// they are.
func (r Rule) Keys(args []string) []int {
	var out []int
	spans, _ := r.keys.find(len(args), func(i int) string { return args[i] })
	for _, s := range spans {
		for i := s.first; i < s.end; i += s.step {
			out = append(out, i)
		}
	}
	return out
}

// ArgsFit reports whether the proxy accepts this number of arguments. A proxy
// that parses commands, as twemproxy does, closes the connection when not.
func (r Rule) ArgsFit(args []string) bool { return r.args.fit(len(args) - 1) }

// argCount is a condition on the number of arguments after the command name.
// The zero value accepts any number.
type argCount struct {
	set      bool
	min, max int // max < 0: no upper bound
	pairs    bool
}

func (a argCount) fit(n int) bool {
	if !a.set {
		return true
	}
	return n >= a.min && (a.max < 0 || n <= a.max) && (!a.pairs || n%2 == 0)
}

// parseArgs reads "-" (any), "2" (exactly), "2+" (at least) or "pairs".
func parseArgs(s string) (argCount, error) {
	switch {
	case s == "-" || s == "":
		return argCount{}, nil
	case s == "pairs":
		return argCount{set: true, min: 2, max: -1, pairs: true}, nil
	}
	word, open := strings.CutSuffix(s, "+")
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		return argCount{}, fmt.Errorf("bad argument count %q: want -, 2, 2+ or pairs", s)
	}
	a := argCount{set: true, min: n, max: n}
	if open {
		a.max = -1
	}
	return a, nil
}

// keySpec says where a command's keys are.
type keySpec struct {
	first, last, step int  // as in COMMAND INFO: first 0 means no such range
	numkeys           int  // index of a word that counts the keys after it; 0: none
	store             bool // options may name further keys: STORE dst, BY and GET patterns
}

// parseKeys reads "-", "1", "1:2", "1:-1:2", "num2", and combinations with
// "+": "1+num2" (ZUNIONSTORE), "1+store" (SORT).
func parseKeys(s string) (keySpec, error) {
	var k keySpec
	if s == "-" || s == "" {
		return k, nil
	}
	for part := range strings.SplitSeq(s, "+") {
		if part == "store" {
			k.store = true
			continue
		}
		if word, ok := strings.CutPrefix(part, "num"); ok {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return k, fmt.Errorf("bad key position %q in %q", part, s)
			}
			k.numkeys = n
			continue
		}
		nums := []int{0, 0, 1}
		fields := strings.Split(part, ":")
		if len(fields) > 3 {
			return k, fmt.Errorf("bad key range %q in %q", part, s)
		}
		for i, f := range fields {
			n, err := strconv.Atoi(f)
			if err != nil {
				return k, fmt.Errorf("bad key range %q in %q", part, s)
			}
			nums[i] = n
		}
		if len(fields) == 1 {
			nums[1] = nums[0]
		}
		if nums[0] < 1 || nums[2] < 1 {
			return k, fmt.Errorf("bad key range %q in %q", part, s)
		}
		k.first, k.last, k.step = nums[0], nums[1], nums[2]
	}
	return k, nil
}

// span is a half-open range of argument indices.
type span struct{ first, end, step int }

func (s span) count() int {
	if s.end <= s.first {
		return 0
	}
	return (s.end - s.first + s.step - 1) / s.step
}

// find locates the keys among n words (command included). word(i) returns word
// i. stated is the number that a numkeys word states, -1 if there is none or
// it is no number. It does not allocate.
func (k keySpec) find(n int, word func(int) string) (spans [3]span, stated int) {
	stated = -1
	if k.first > 0 {
		last := k.last
		if last < 0 {
			last += n
		}
		spans[0] = span{k.first, min(last+1, n), k.step}
	}
	if k.numkeys > 0 && k.numkeys < n {
		if num, err := strconv.Atoi(word(k.numkeys)); err == nil {
			stated = num
			spans[1] = span{k.numkeys + 1, min(k.numkeys+1+max(num, 0), n), 1}
		}
	}
	if k.store {
		for i := 2; i+1 < n && spans[2].count() == 0; i++ {
			if namesKey(word(i), word(i+1)) {
				spans[2] = span{i + 1, i + 2, 1}
			}
		}
	}
	return spans, stated
}

// namesKey reports whether option opt makes val a further key. BY and GET take
// key patterns; without a "*" (BY nosort, GET #) they touch no other key.
func namesKey(opt, val string) bool {
	switch {
	case strings.EqualFold(opt, "STORE"), strings.EqualFold(opt, "STOREDIST"):
		return true
	case strings.EqualFold(opt, "BY"), strings.EqualFold(opt, "GET"):
		return strings.Contains(val, "*")
	}
	return false
}
