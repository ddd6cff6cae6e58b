package proxycompat

import (
	"fmt"
	"strconv"
	"strings"
)

// keySpec describes the key positions of a command, like the key specifications of COMMAND. The zero value
// means no keys.
type keySpec struct {
	first, last, step int    // as in COMMAND INFO; first 0: no such range
	numkeys, each     int    // index of the key count, and the words per key after it; 0: none
	store             int    // index of the first option; STORE dst, BY and GET patterns name further keys; 0: none
	from              int    // index from which to look for the word after
	after             string // a word: the first half of the words that follow it are keys
	migrate           bool   // MIGRATE: the key is word 3, or, if that is empty, all words after KEYS
}

// parseKeys parses the column keys of commands.tsv.
func parseKeys(s string) (keySpec, error) {
	var k keySpec
	switch {
	case s == "-" || s == "":
		return k, nil
	case s == "migrate":
		return keySpec{migrate: true}, nil
	}
	if rest, ok := strings.CutPrefix(s, "after"); ok {
		index, word, _ := strings.Cut(rest, ":")
		n, err := strconv.Atoi(index)
		if err != nil || n < 1 || n > maxIndex || word == "" {
			return k, fmt.Errorf("bad keys %q: want the index to look from and the word, as in after1:STREAMS", s)
		}
		return keySpec{from: n, after: word}, nil
	}
	for part := range strings.SplitSeq(s, "+") {
		if word, ok := strings.CutPrefix(part, "store"); ok {
			n, err := strconv.Atoi(word)
			if err != nil || n < 2 || n > maxIndex {
				return k, fmt.Errorf("bad keys %q in %q: want the index of the first option, as in store2", part, s)
			}
			k.store = n
			continue
		}
		word, counted := strings.CutPrefix(part, "num")
		nums, err := positions(word)
		if err != nil {
			return k, fmt.Errorf("bad keys %q in %q: want -, 1, 1:-1, 1:-1:2, num2, num1:2, 1+store2, after4:WORD or migrate", part, s)
		}
		switch n := len(nums); {
		case counted && n == 1:
			k.numkeys, k.each = nums[0], 1
		case counted && n == 2 && nums[1] > 0:
			k.numkeys, k.each = nums[0], nums[1]
		case !counted && n == 1:
			k.first, k.last, k.step = nums[0], nums[0], 1
		case !counted && n == 2:
			k.first, k.last, k.step = nums[0], nums[1], 1
		case !counted && n == 3 && nums[2] > 0:
			k.first, k.last, k.step = nums[0], nums[1], nums[2]
		default:
			return k, fmt.Errorf("bad keys %q in %q", part, s)
		}
	}
	return k, nil
}

// maxIndex exceeds the index of any word in a command of fixed form.
const maxIndex = 1000

func positions(s string) ([]int, error) {
	var nums []int
	for field := range strings.SplitSeq(s, ":") {
		n, err := strconv.Atoi(field)
		if err != nil || n < -maxIndex || n > maxIndex {
			return nil, strconv.ErrRange
		}
		nums = append(nums, n)
	}
	if nums[0] < 1 {
		return nil, strconv.ErrRange
	}
	return nums, nil
}

// none reports whether the command has no keys.
func (k keySpec) none() bool { return k == keySpec{} }

// atOne reports whether the first key is the first argument.
func (k keySpec) atOne() bool { return k.first == 1 }

// several reports whether the command may have more than one key.
func (k keySpec) several() bool {
	return k.last != k.first || k.numkeys > 0 || k.store > 0 || k.after != "" || k.migrate
}

// span is a half-open range of argument indices.
type span struct{ first, end, step int }

func (s span) count() int {
	if s.end <= s.first {
		return 0
	}
	return (s.end - s.first + s.step - 1) / s.step
}

// located holds the key positions of one command.
type located struct {
	spans   [2]span
	options [8]int // indices of keys that options name
	named   int    // the number of keys that options name, including those that options has no room for
	stated  int    // the declared key count; -1 if absent or not a number
}

func (l *located) count() int { return l.spans[0].count() + l.spans[1].count() + l.named }

// each calls f with the index of each key until f returns false, and reports whether f saw all keys.
func (l *located) each(f func(i int) bool) bool {
	for _, s := range l.spans {
		for i := s.first; i < s.end; i += s.step {
			if !f(i) {
				return false
			}
		}
	}
	for _, i := range l.options[:min(l.named, len(l.options))] {
		if !f(i) {
			return false
		}
	}
	return l.named <= len(l.options)
}

// same reports whether all keys are equal.
func (l *located) same(word func(int) string) bool {
	first, seen := "", false
	return l.stated <= l.spans[1].count() && l.each(func(i int) bool {
		if !seen {
			first, seen = word(i), true
		}
		return word(i) == first
	})
}

// find locates the keys among n words, including the command. word(i) returns word i. It does not allocate.
func (k keySpec) find(n int, word func(int) string) (l located) {
	l.stated = -1
	switch {
	case k.first > 0:
		last := k.last
		if last < 0 {
			last += n
		}
		l.spans[0] = span{k.first, min(last+1, n), k.step}
	case k.after != "":
		l.spans[0] = half(k.from, k.after, n, word)
	case k.migrate:
		l.spans[0] = migrated(n, word)
	}
	if k.numkeys > 0 && k.numkeys < n {
		if num, err := strconv.Atoi(word(k.numkeys)); err == nil {
			l.stated = num
			// A count larger than the command is cut off, so that it cannot overflow.
			l.spans[1] = span{k.numkeys + 1, min(k.numkeys+1+min(max(num, 0), n)*k.each, n), k.each}
		}
	}
	if k.store > 0 {
		l.nameOptions(k.store, n, word)
	}
	return l
}

// nameOptions finds the keys that the options of SORT and GEORADIUS name, from index first on. The word
// after such an option is always its value.
func (l *located) nameOptions(first, n int, word func(int) string) {
	for i := first; i+1 < n; i++ {
		switch opt := word(i); {
		case strings.EqualFold(opt, "LIMIT"):
			i += 2
		case strings.EqualFold(opt, "COUNT"):
			i++
		case strings.EqualFold(opt, "STORE"), strings.EqualFold(opt, "STOREDIST"):
			i++
			l.name(i)
		case strings.EqualFold(opt, "BY"), strings.EqualFold(opt, "GET"):
			// BY and GET take patterns of keys; without a "*" (BY nosort, GET #) they access no key.
			if i++; strings.Contains(word(i), "*") {
				l.name(i)
			}
		}
	}
}

func (l *located) name(i int) {
	if l.named < len(l.options) {
		l.options[l.named] = i
	}
	l.named++
}

// half returns the first half of the words after the given word.
func half(from int, after string, n int, word func(int) string) span {
	for i := from; i < n; i++ {
		if strings.EqualFold(word(i), after) {
			return span{i + 1, i + 1 + (n-i-1)/2, 1}
		}
	}
	return span{}
}

// migrated finds the keys of MIGRATE host port key|"" db timeout … [KEYS key …].
func migrated(n int, word func(int) string) span {
	if n > 3 && word(3) != "" {
		return span{3, 4, 1}
	}
	for i := 6; i < n; i++ {
		switch {
		case strings.EqualFold(word(i), "AUTH"):
			i++
		case strings.EqualFold(word(i), "AUTH2"):
			i += 2
		case strings.EqualFold(word(i), "KEYS"):
			return span{i + 1, n, 1}
		}
	}
	return span{}
}
