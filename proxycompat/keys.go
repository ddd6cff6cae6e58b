package proxycompat

import (
	"fmt"
	"strconv"
	"strings"
)

// keySpec says where a command's keys are, as the key specifications of Redis'
// COMMAND do. The zero value: it has none.
type keySpec struct {
	first, last, step int    // as in COMMAND INFO: first 0 means no such range
	numkeys, each     int    // index of a word that counts the keys after it, each with each-1 more words; 0: none
	store             bool   // options may name further keys: STORE dst, BY and GET patterns
	after             string // the first half of what follows this word
	migrate           bool   // the word at 3, or if it is empty all after KEYS
}

// parseKeys reads what commands.tsv has in its column keys.
func parseKeys(s string) (keySpec, error) {
	var k keySpec
	switch {
	case s == "-" || s == "":
		return k, nil
	case s == "migrate":
		return keySpec{migrate: true}, nil
	}
	if word, ok := strings.CutPrefix(s, "after:"); ok && word != "" {
		return keySpec{after: word}, nil
	}
	for part := range strings.SplitSeq(s, "+") {
		if part == "store" {
			k.store = true
			continue
		}
		word, counted := strings.CutPrefix(part, "num")
		nums, err := positions(word)
		if err != nil {
			return k, fmt.Errorf("bad keys %q in %q: want -, 1, 1:-1, 1:-1:2, num2, num1:2, store, after:WORD or migrate", part, s)
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

func positions(s string) ([]int, error) {
	var nums []int
	for field := range strings.SplitSeq(s, ":") {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
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

// atOne reports whether its first key is its first argument.
func (k keySpec) atOne() bool { return k.first == 1 }

// several reports whether it may have more than one key.
func (k keySpec) several() bool {
	return k.last != k.first || k.numkeys > 0 || k.store || k.after != "" || k.migrate
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
	switch {
	case k.first > 0:
		last := k.last
		if last < 0 {
			last += n
		}
		spans[0] = span{k.first, min(last+1, n), k.step}
	case k.after != "":
		spans[0] = half(k.after, n, word)
	case k.migrate:
		spans[0] = migrated(n, word)
	}
	if k.numkeys > 0 && k.numkeys < n {
		if num, err := strconv.Atoi(word(k.numkeys)); err == nil {
			stated = num
			// A count that is larger than the command is cut off before it can overflow.
			spans[1] = span{k.numkeys + 1, min(k.numkeys+1+min(max(num, 0), n)*k.each, n), k.each}
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

// half is the first half of what follows the word.
func half(after string, n int, word func(int) string) span {
	for i := 1; i < n; i++ {
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
		if strings.EqualFold(word(i), "KEYS") {
			return span{i + 1, n, 1}
		}
	}
	return span{}
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
