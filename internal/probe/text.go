package probe

import (
	"fmt"
	"strings"
	"time"

	"github.com/unwatch/unwatch/internal/wrap"
)

// Width limits the columns of [Report.Text].
const Width = 80

// maxShown limits the listed differences.
const maxShown = 20

// Text returns the most similar profile, the differences, and their consequences for a service. No line has
// more than [Width] columns, unless a name is longer.
func (r *Report) Text() string {
	t := &page{}
	r.textLikeness(t)
	r.textDifferences(t)
	r.textMeaning(t)
	r.textAsked(t)
	return t.String()
}

func (r *Report) textLikeness(t *page) {
	if len(r.Likeness) == 0 {
		t.para("", r.Addr+" gave too few conclusive answers to name a similar profile.")
		return
	}
	best := r.Likeness[0]
	t.para("", fmt.Sprintf("%s is most like %s: %d of %d commands answer as in its profile.", r.Addr, best.Title, best.Agreed, best.Asked))
	var next []string
	for _, l := range r.Likeness[1:min(4, len(r.Likeness))] {
		next = append(next, fmt.Sprintf("%s %d of %d", l.Profile, l.Agreed, l.Asked))
	}
	t.para("", "Next: "+strings.Join(next, ", ")+".")
	server := "not known, for it answers no INFO"
	if s := r.Server; s.Product != "" {
		server = fmt.Sprintf("%s %s", s.Product, s.Version)
		if s.Mode != "" {
			server += ", " + s.Mode
		}
		server += " (by " + s.By + ")"
	}
	t.para("", "Server: "+server+".")
	for _, limit := range r.Server.Limits {
		t.para("", "Warning: "+limit+".")
	}
	if r.Unfinished != "" {
		t.para("", "Not finished: "+r.Unfinished+".")
	}
}

func (r *Report) textDifferences(t *page) {
	if r.Base == "" {
		return
	}
	t.blank()
	if len(r.Differences) == 0 {
		t.para("", "Nothing differs from "+r.Base+".")
		return
	}
	t.para("", fmt.Sprintf("%s from %s:", wrap.Counted(len(r.Differences), "difference"), r.Base))
	for i, d := range r.Differences {
		if i == maxShown {
			t.para("  ", fmt.Sprintf("and %d more", len(r.Differences)-i))
			break
		}
		name := d.Command
		if d.Case != "" {
			name += ", " + d.Case
		}
		line := fmt.Sprintf("%s: expected %s, observed %s", name, d.Expected, d.Observed)
		if d.Text != "" {
			line += ": " + d.Text
		}
		t.para("  ", line)
	}
}

func (r *Report) textMeaning(t *page) {
	meanings := r.Meaning()
	if len(meanings) == 0 {
		return
	}
	t.blank()
	t.para("", "For a service:")
	for _, m := range meanings {
		t.para("  - ", m)
	}
}

func (r *Report) textAsked(t *page) {
	t.blank()
	took := (time.Duration(r.TookMS) * time.Millisecond).Round(10 * time.Millisecond)
	t.para("", fmt.Sprintf("Asked with %d commands on %s in %v.", r.Sent, wrap.Counted(r.Dialled, "connection"), took))
	if expire := r.Left - r.Lasting; expire > 0 {
		t.para("", fmt.Sprintf("%s could not be deleted, and will expire within a minute.", wrap.Counted(expire, "key")))
	}
	if r.Lasting > 0 {
		t.para("", r.lasting()+".")
	}
}

// page is text of limited width.
type page struct{ strings.Builder }

func (t *page) blank() { t.WriteByte('\n') }

// para writes words, the first line indented by lead and the others by blanks of the same width.
func (t *page) para(lead, words string) {
	t.WriteString(wrap.Paragraph(Width, lead, strings.Repeat(" ", max(len(lead), 2)), words))
}
