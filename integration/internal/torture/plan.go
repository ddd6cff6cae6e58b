package torture

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// planned is a cell to run.
type planned struct {
	nemesis Nemesis
	control *Control
	trial   *trial
	bank    bool

	isolation *Isolation
}

func (p planned) name(t Topology) string {
	if p.control != nil {
		return "control/" + p.control.Name
	}
	if p.isolation != nil {
		return "isolation/" + t.Name + "/" + p.nemesis.Name
	}
	if p.trial != nil {
		return "mitigations at " + t.Name + "/" + p.nemesis.Name
	}
	if p.bank {
		return t.Name + "/" + bankKind + "/" + p.nemesis.Name
	}
	return t.Name + "/" + p.nemesis.Name
}

// bankLeast is the minimum duration of a cell of the bank: a seal that a dead process leaves stops its keys for a second.
const bankLeast = 2 * time.Second

// banks returns the cells of the bank in a topology.
func banks(t Topology) (all []planned) {
	for _, n := range Nemeses() {
		if n.fits(t) && n.load == nil {
			n.least = max(n.least, bankLeast)
			if strings.Contains(t.Name, ">") { // keys have to move there and back
				n.least = max(n.least, 2*flipEvery)
			}
			all = append(all, planned{nemesis: n, bank: true})
		}
	}
	return all
}

// plan returns the cells of each topology.
func plan(only string) map[string][]planned {
	wanted := func(name string) bool { return strings.Contains(name, only) }
	topology, nemesis, _ := strings.Cut(only, "/")
	if slices.ContainsFunc(Topologies(), func(t Topology) bool { return t.Name == topology }) &&
		slices.ContainsFunc(Nemeses(), func(n Nemesis) bool { return n.Name == nemesis }) {
		wanted = func(name string) bool { return name == only } // codis/cut is not old>codis/cut
	}
	all := map[string][]planned{}
	for _, t := range Topologies() {
		for _, n := range Nemeses() {
			if n.fits(t) && wanted(t.Name+"/"+n.Name) {
				all[t.Name] = append(all[t.Name], planned{nemesis: n})
			}
		}
	}
	for _, t := range Topologies() {
		for _, p := range banks(t) {
			if wanted(p.name(t)) {
				all[t.Name] = append(all[t.Name], p)
			}
		}
	}
	nemeses := slices.Concat(Nemeses(), atTheQuorum())
	for _, i := range Isolations() {
		nemeses = append(nemeses, Nemesis{Name: i.Fault, About: i.About, least: isolationLeast})
	}
	named := func(name string) Nemesis {
		return nemeses[slices.IndexFunc(nemeses, func(n Nemesis) bool { return n.Name == name })]
	}
	for _, c := range Controls() {
		if wanted("control/" + c.Name) {
			all[c.Topology] = append(all[c.Topology], planned{nemesis: named(c.Nemesis), control: &c})
		}
	}
	for _, t := range trials(wanted) {
		all[t.Topology] = append(all[t.Topology], planned{nemesis: named(t.Nemesis), trial: t})
	}
	for _, i := range Isolations() {
		p := planned{nemesis: named(i.Fault), isolation: &i}
		if wanted(p.name(i.Topology)) {
			all[i.Topology.Name] = append(all[i.Topology.Name], p)
		}
	}
	return all
}

// alone reports whether no other cell may run beside it, since it measures the memory of the process.
func (p planned) alone() bool { return p.nemesis.load != nil }

// long reports whether a cell has a long minimum duration: a server has to be replaced, and the old one to
// rejoin.
func (p planned) long() bool {
	return p.control == nil && !p.bank && (p.trial != nil || p.nemesis.least >= 5*time.Second)
}

// recovery is the approximate additional time of a long cell.
const recovery = 12 * time.Second

// shorten omits long cells until the remaining ones take at most a quarter of a run, and cells of the bank until they take a
// twelfth. The seed selects them, so that many short runs cover all.
func shorten(cells map[string][]planned, d time.Duration, seed uint64) (omitted []string) {
	return slices.Sorted(slices.Values(slices.Concat(
		omit(cells, d/4, seed, planned.long), omit(cells, d/12, seed, func(p planned) bool { return p.bank }))))
}

// omit omits cells of a kind until the remaining ones take at most this long.
func omit(cells map[string][]planned, d time.Duration, seed uint64, of func(p planned) bool) (omitted []string) {
	type place struct {
		topology Topology
		index    int
	}
	var all []place
	for _, t := range slices.Concat(Topologies(), quorums(), apart()) {
		for i, p := range cells[t.Name] {
			if of(p) {
				all = append(all, place{t, i})
			}
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	left := map[string][]int{}
	for _, at := range all {
		p := cells[at.topology.Name][at.index]
		took := p.nemesis.least + recovery
		if p.bank {
			took = p.nemesis.least + settle
		}
		if took /= atOnce; took <= d {
			d -= took
			continue
		}
		left[at.topology.Name] = append(left[at.topology.Name], at.index)
		omitted = append(omitted, p.name(at.topology))
	}
	for topology, indices := range left {
		var kept []planned
		for i, p := range cells[topology] {
			if !slices.Contains(indices, i) {
				kept = append(kept, p)
			}
		}
		cells[topology] = kept
	}
	return omitted
}
