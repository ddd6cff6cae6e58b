package report

// pageSample is a call that differed, as the page shows it.
type pageSample struct {
	Title, Class, FoundBy, When string
	Blocks                      bool
	Open                        bool
	Key, OpID, Process, Explain string
	Differs                     pageTable
}

// pageSamples is how many are shown, pageOpen how many of those unfolded.
const (
	pageSamples     = 9
	pageOpen        = 3
	pageDifferences = 8
)

// newPageSamples returns those that are shown, and says how many are not.
func newPageSamples(r *Report) (samples []pageSample, more string) {
	for i, s := range r.Samples[:min(len(r.Samples), pageSamples)] {
		name, _ := pageComparator(s.Comparator)
		samples = append(samples, pageSample{
			Title: operationName(s.Domain, s.Operation), Class: string(s.Class), FoundBy: name,
			When: pageTime(s.At), Blocks: s.Class.Blocks(), Open: i < pageOpen,
			Key: pageOr(s.Key), OpID: pageOr(s.OpID), Process: s.Process, Explain: s.Explain,
			Differs: pageDiffers(s),
		})
	}
	return samples, pageLeftOut(len(r.Samples), len(samples), "sample")
}

func pageDiffers(s Sample) pageTable {
	table := pageTable{
		Label: "Differences of operation " + pageOr(s.OpID),
		Head:  pageColumns("Path", "Legacy", "Candidate"),
	}
	row := func(path pageCell, legacy, candidate string) {
		path.Head = true
		cells := []pageCell{path, pageCode(legacy), pageCode(candidate)}
		if legacy != candidate {
			cells[2].Kind = "code differs"
			cells[2].Tag = "differs"
		}
		table.Rows = append(table.Rows, cells)
	}
	for _, d := range s.Differences[:min(len(s.Differences), pageDifferences)] {
		row(pageCode(d.Path), d.Legacy, d.Candidate)
	}
	row(pageText("answered"), s.Legacy, s.Candidate)
	if s.LegacyExpiry != "" || s.CandidateExpiry != "" {
		row(pageText("expires in"), pageExpiry(s.LegacyExpiry), pageExpiry(s.CandidateExpiry))
	}
	if more := s.More + max(0, len(s.Differences)-pageDifferences); more > 0 {
		table.Note = pagePlural(more, "difference") + " more not listed."
	}
	return table
}
