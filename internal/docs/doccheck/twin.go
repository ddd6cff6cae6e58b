package doccheck

import "strings"

// checkTwins requires that a translation has the same outline and code. It reports the first difference
// only, since the others follow from it.
func (c *checker) checkTwins(original, twin *document) {
	for i := range max(len(original.headings), len(twin.headings)) {
		if at(original.headings, i).level != at(twin.headings, i).level {
			c.found(twin, 1, "heading %d is level %d (%q) here and level %d (%q) in %s; 0 is missing", i+1,
				at(twin.headings, i).level, at(twin.headings, i).text,
				at(original.headings, i).level, at(original.headings, i).text, original.path)
			break
		}
	}
	for i := range max(len(original.blocks), len(twin.blocks)) {
		a, b := at(original.blocks, i), at(twin.blocks, i)
		if a.lang != b.lang || strings.TrimSpace(a.text) != strings.TrimSpace(b.text) || a.comment != b.comment {
			c.found(twin, max(b.line, 1), "code block %d is not that of %s (line %d)", i+1, original.path, a.line)
			break
		}
	}
}

// at is the element, or the zero value if there is none.
func at[T any](list []T, i int) (zero T) {
	if i < len(list) {
		return list[i]
	}
	return zero
}
