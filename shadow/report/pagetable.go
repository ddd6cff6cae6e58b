package report

// pageTable is a table in a box of its own, which scrolls where the window is too narrow.
type pageTable struct {
	Label string // what the box is called, for those who do not see it
	Head  []pageCell
	Rows  [][]pageCell
	Note  string // beneath; that rows are left out, for example
}

// pageCell is a cell of it.
type pageCell struct {
	Text string
	Sub  string // smaller, on a line of its own
	Kind string // "", "num", "code" or "wide", as page.css has them
	Mark State  // shown as a sign and a word before the text; empty for none
	Tag  string // a word in a frame, after the text
	Head bool   // names its row
	Rows int    // that it spans; 0 is 1
}

// The cells, each in its kind.
func pageText(text string) pageCell    { return pageCell{Text: pageOr(text)} }
func pageNumber(text string) pageCell  { return pageCell{Text: text, Kind: "num"} }
func pageCode(text string) pageCell    { return pageCell{Text: pageOr(text), Kind: "code"} }
func pageHead(text string) pageCell    { return pageCell{Text: pageOr(text), Head: true} }
func pageMoment(text string) pageCell  { return pageCell{Text: text, Kind: "when"} }
func pageProse(text string) pageCell   { return pageCell{Text: pageOr(text), Kind: "wide"} }
func pageNumHead(text string) pageCell { return pageCell{Text: text, Kind: "num"} }

// pageNumberOf is a count; one of nothing stands back.
func pageNumberOf(n int64) pageCell {
	if n == 0 {
		return pageCell{Text: "0", Kind: "num zero"}
	}
	return pageNumber(grouped(n))
}

// pageColumns makes the head of a table; a name that starts with # is that of a column
// of numbers.
func pageColumns(names ...string) []pageCell {
	head := make([]pageCell, 0, len(names))
	for _, name := range names {
		if name[0] == '#' {
			head = append(head, pageNumHead(name[1:]))
			continue
		}
		head = append(head, pageCell{Text: name})
	}
	return head
}

// pageLeftOut says how many of all are not shown, or nothing if none.
func pageLeftOut(all, shown int, noun string) string {
	if all <= shown {
		return ""
	}
	return pagePlural(all-shown, noun) + " more: the JSON has all of them."
}
