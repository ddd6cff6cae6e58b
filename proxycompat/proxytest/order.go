package proxytest

import (
	"math/rand/v2"
	"slices"
)

// order returns the order in which a pipeline is executed.
func (s *session) order(batch [][]string) []int {
	order := make([]int, len(batch))
	for i := range order {
		order[i] = i
	}
	switch {
	case s.p.transparent() || s.calm || len(batch) < 2:
	case s.p.cfg.Reorder:
		slices.Reverse(order)
	case s.p.cfg.Parallel > 0:
		return s.interleave(batch)
	}
	return order
}

// lane is one connection of the proxy; commands in it keep their order.
type lane struct{ backend, nth int }

// interleave spreads a pipeline over the connections to the backends, and returns a possible order of
// execution.
func (s *session) interleave(batch [][]string) []int {
	if s.rng == nil {
		s.rng = rand.New(rand.NewPCG(s.p.cfg.Seed, uint64(s.id)))
	}
	var lanes []lane // one per remaining command, so that long lanes are drawn as often as they have commands
	waiting := map[lane][]int{}
	for i, args := range batch {
		l := lane{s.p.BackendOf(s.routed(args, s.p.profile.RuleFor(args...))), s.rng.IntN(s.p.cfg.Parallel)}
		lanes = append(lanes, l)
		waiting[l] = append(waiting[l], i)
	}
	s.rng.Shuffle(len(lanes), func(i, j int) { lanes[i], lanes[j] = lanes[j], lanes[i] })
	order := make([]int, 0, len(batch))
	for _, l := range lanes {
		order = append(order, waiting[l][0])
		waiting[l] = waiting[l][1:]
	}
	return order
}
