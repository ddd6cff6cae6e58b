package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/unwatch/unwatch/examples/rehearsal/internal/events"
)

const (
	rooms   = 150
	members = 900
)

// perHour is the number of events per hour.
var perHour = [24]int{
	260, 160, 110, 90, 110, 210, 520, 1180, 2150, 1900, 1350, 1150,
	1000, 1500, 1800, 1400, 1150, 1050, 1100, 1450, 1700, 1350, 800, 510,
}

// generate writes the day. It uses integer arithmetic on a fixed generator, so the recording is the
// same on every machine and with every version of Go.
func generate(w io.Writer) error {
	d := day{random: rand.NewPCG(2017, 11), in: make([][]int, rooms)}
	for hour, n := range perHour {
		seconds := make([]int, n)
		for i := range seconds {
			seconds[i] = d.below(3600)
		}
		slices.Sort(seconds)
		for i, s := range seconds {
			e := d.event(hour)
			e.At = fmt.Sprintf("%02d:%02d:%02d", hour, s/60, s%60)
			line, err := json.Marshal(e)
			if err != nil {
				return err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return fmt.Errorf("event %d of hour %d: %w", i, hour, err)
			}
		}
	}
	return nil
}

// day has the members of each room.
type day struct {
	random *rand.PCG
	in     [][]int // members by room, in the order of their joins
}

// below returns a number in [0, n), with a small bias.
func (d *day) below(n int) int { return int(d.random.Uint64() % uint64(n)) }

// event returns a random event. Members tend to join early and leave late in the day.
func (d *day) event(hour int) events.Event {
	room := d.room()
	join, leave := 12, 8
	switch {
	case hour >= 6 && hour < 10:
		join, leave = 22, 4
	case hour >= 22:
		join, leave = 3, 45
	}
	// Limit the room: above 60 members, leaves are more likely.
	if len(d.in[room]) > 60 {
		join, leave = 2, 12
	}
	switch roll := d.below(100); {
	case len(d.in[room]) < 2 || roll < join:
		return d.join(room)
	case roll < join+leave:
		at := d.below(len(d.in[room]))
		who := d.in[room][at]
		d.in[room] = slices.Delete(d.in[room], at, at+1)
		return d.of(room, "leave", who)
	case roll < 90:
		return d.of(room, "post", d.randomMember(room))
	}
	return d.of(room, "react", d.randomMember(room))
}

// room chooses by Zipf's law: room n has 1/n of the events of the first.
func (d *day) room() int {
	const unit = 1 << 20
	total := 0
	for i := range rooms {
		total += unit / (i + 2)
	}
	at := d.below(total)
	for i := range rooms {
		if at -= unit / (i + 2); at < 0 {
			return i
		}
	}
	return rooms - 1
}

func (d *day) join(room int) events.Event {
	for {
		who := d.below(members)
		if !slices.Contains(d.in[room], who) {
			d.in[room] = append(d.in[room], who)
			return d.of(room, "join", who)
		}
	}
}

// randomMember returns a random member of the room. Some members post more than others.
func (d *day) randomMember(room int) int {
	n := len(d.in[room])
	return d.in[room][min(d.below(n), d.below(n))]
}

func (d *day) of(room int, op string, who int) events.Event {
	named := []string{"lobby", "general", "random", "incidents", "deploys", "support", "lunch", "music"}
	name := fmt.Sprintf("team-%03d", room)
	if room < len(named) {
		name = named[room]
	}
	return events.Event{Room: name, Op: op, Member: fmt.Sprintf("m%04d", who)}
}
