package htmlpage

// Part is a part of a bar, in percent of its width. Kind is a class of page.css.
type Part struct {
	Kind     string
	X, Width float64
}

// Parts divides a bar by the counts, each with its kind. Counts of 0 have no part.
func Parts(whole int64, counts []int64, kinds []string) (parts []Part) {
	const least = 0.4 // of a small count, to be visible; the widest part shrinks
	over, widest, x := 0.0, 0, 0.0
	for i, n := range counts {
		if n <= 0 {
			continue
		}
		width := 100 * float64(n) / float64(whole)
		over += max(least-width, 0)
		parts = append(parts, Part{Kind: kinds[i], Width: max(width, least)})
		if width > parts[widest].Width {
			widest = len(parts) - 1
		}
	}
	for i := range parts {
		part := &parts[i]
		if i == widest {
			part.Width -= over
		}
		part.X = x
		x += part.Width
	}
	return parts
}
