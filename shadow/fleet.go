package shadow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/unwatch/unwatch/rmw"
	"github.com/unwatch/unwatch/shadow/report"
)

// Merge adds up the reports of many processes. See [report.Merge].
func Merge(reports ...*report.Report) (*report.Report, error) { return report.Merge(reports...) }

// publishedFor is how long a published report lasts if its process says nothing more.
const publishedFor = 10 * time.Minute

// maxFleet is how many processes are listed. Each that is started has a name of its own.
const maxFleet = 1000

// Publish stores the report of this process under a key of its own, prefix, ":" and
// Config.Process, and adds that to the list under prefix, for [Collect]. The report
// lasts for ten minutes. store may be the legacy or the candidate path, or any other; not
// this Store itself, which would shadow it.
func (s *Store) Publish(ctx context.Context, store rmw.Store, prefix string) error {
	if _, is := rmw.As[*Store](store); is {
		return fmt.Errorf("%w: Publish to a shadow.Store would be shadowed; pass one of its two paths", rmw.ErrInvalid)
	}
	var text bytes.Buffer
	if err := s.Report().WriteJSON(&text, s.cfg.Policy); err != nil {
		return err
	}
	key := rmw.Key{Name: prefix + ":" + s.cfg.Process, TTL: publishedFor, Label: "shadow-report"}
	if _, err := store.Update(ctx, key, func(context.Context, rmw.Value) (rmw.Value, error) {
		return rmw.String(text.String()).WithTTL(publishedFor), nil
	}); err != nil {
		return err
	}
	list := rmw.Key{Name: prefix, TTL: publishedFor, Label: "shadow-report"}
	_, err := store.Update(ctx, list, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		// The one that has said something last is at the end: what is gone falls off the other.
		names := slices.DeleteFunc(strings.Fields(cur.Text()), func(name string) bool { return name == s.cfg.Process })
		names = append(names, s.cfg.Process)
		return rmw.String(strings.Join(names[max(0, len(names)-maxFleet):], " ")).WithTTL(publishedFor), nil
	})
	return err
}

// Collect reads what the processes of a fleet have published under prefix, and merges
// it. Those that have said nothing for ten minutes are left out.
func Collect(ctx context.Context, store rmw.Reader, prefix string) (*report.Report, error) {
	list, err := store.Read(ctx, rmw.Key{Name: prefix})
	if err != nil {
		return nil, err
	}
	var reports []*report.Report
	for name := range strings.FieldsSeq(list.Text()) {
		v, err := store.Read(ctx, rmw.Key{Name: prefix + ":" + name})
		if err != nil {
			return nil, err
		}
		if !v.Exists() {
			continue
		}
		r, err := report.Read(strings.NewReader(v.Text()))
		if err != nil {
			return nil, fmt.Errorf("shadow: the report of %.64q: %w", name, err)
		}
		reports = append(reports, r)
	}
	if len(reports) == 0 {
		return nil, errors.New("shadow: no process has published a report under this prefix")
	}
	return report.Merge(reports...)
}
