package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/cutover"
	"github.com/unwatch/unwatch/cutover/operate"
	"github.com/unwatch/unwatch/lockupdate"
	"github.com/unwatch/unwatch/rmw"
)

// repair makes a key whole that has two homes, or has lost its marker. Every write is an Update of one store that
// refuses another value than the one that was saved, so it is safe beside the service.
type repair struct {
	stores  [2]*lockupdate.Store
	clients []*redis.Client
	name    string
	stage   cutover.Stage
	keep    int // index of the store whose value stays
	written *rmw.Value
}

// sideNames are the values of -keep.
var sideNames = [2]string{"old", "new"}

// stored is a key in one store.
type stored struct {
	kind  string // as the command TYPE names it
	value rmw.Value
	left  time.Duration
	// fields says that fields of the hash have an expiry, which value lacks.
	fields bool
}

var errChanged = errors.New("the key changes while it is repaired")

// runRepair shows and saves both values of -key, and then makes that of -keep the only one.
func (f *cutoverFlags) runRepair(ctx context.Context, s cutoverStores, w io.Writer) (code int, err error) {
	r := repair{stores: [2]*lockupdate.Store{s.old, s.new}, clients: s.clients, name: f.key}
	if f.keep == sideNames[1] {
		r.keep = 1
	}
	if err = f.checkStores(ctx, s); err != nil {
		return codeError, err
	}
	if r.stage, err = cutover.Current(ctx, f.name, s.old, s.new); err != nil {
		return codeError, err
	}
	const tries = 20 // a hot key changes between two commands
	for try := 1; ; try++ {
		found, err := r.look(ctx)
		if err != nil {
			return codeError, err
		}
		if try == 1 {
			for i, one := range found {
				say(w, "%s", wrapped(fmt.Sprintf("%s store: %v", sideNames[i], one)))
			}
		}
		problem := r.problem(found)
		if f.keep != "" {
			problem = cmp.Or(problem, r.lost(found))
		}
		if problem != "" {
			say(w, "%s", wrapped("Nothing was changed: "+problem))
			return codeDiffers, nil
		}
		if err := f.saveKey(r.stage, found); err != nil {
			return codeError, err
		}
		if f.dryRun {
			say(w, "%s", wrapped("Both are saved in "+f.save+". Nothing was changed: leave out -dry-run"))
			return codeOK, nil
		}
		switch err = r.apply(ctx, found); {
		case errors.Is(err, errChanged) && try < tries:
			continue
		case err != nil:
			return codeError, fmt.Errorf("repair: %w; %s has every value that it saw: freeze, and repeat the command", err, f.save)
		}
		break
	}
	report, err := f.verifyKey(ctx, s)
	if err != nil {
		return codeError, err
	}
	if r.stage.Phase == cutover.Complete {
		report.Unmarked = operate.Keys{} // no key has a marker there
	}
	if report.Wrong() > 0 {
		say(w, "%s", wrapped("Another process has changed the key again: find it, and repeat the command"))
		return codeDiffers, nil
	}
	say(w, "%s", wrapped(fmt.Sprintf("done: the %s store's value is the only one; %s has both", f.keep, f.save)))
	return codeOK, nil
}

// look reads the key in both stores.
func (r *repair) look(ctx context.Context) (found [2]stored, err error) {
	for i, store := range r.stores {
		kind, err := r.clients[i].Type(ctx, r.name).Result()
		if err == nil && kind == "list" { // a Peek ends an update of several keys that has sealed the key
			_, _, _ = store.Peek(ctx, rmw.Key{Name: r.name})
			kind, err = r.clients[i].Type(ctx, r.name).Result()
		}
		if err != nil {
			return found, err
		}
		found[i] = stored{kind: kind}
		if kind != "string" && kind != "hash" {
			continue
		}
		key := rmw.Key{Name: r.name}
		if kind == "hash" {
			key.Kind = rmw.KindHash
		}
		if found[i].value, found[i].left, err = store.Peek(ctx, key); err != nil {
			return found, err
		}
		if !found[i].value.Exists() { // it expired, or was deleted
			found[i] = stored{kind: "none"}
		} else if kind == "hash" {
			if found[i].fields, err = operate.FieldsExpire(ctx, r.clients[i], r.name); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// problem says why there is nothing to repair, or "".
func (r *repair) problem(found [2]stored) string {
	for i, one := range found {
		if one.kind == "list" {
			return fmt.Sprintf("the %s store has a marker or another list, so the key has one home, or is in transit: sweep, and verify", sideNames[i])
		}
		if one.kind != "none" && !one.value.Exists() {
			return fmt.Sprintf("the %s store has a %s, and this command reads strings and hashes: RENAME it, and repeat", sideNames[i], one.kind)
		}
	}
	if !found[1].value.Exists() || r.stage.Phase == cutover.Complete && !found[0].value.Exists() {
		return "the key has one home at most"
	}
	return ""
}

// lost says which expiries of fields a repair would change, or "". The value of another store replaces a hash field by
// field: it has no such expiries, and fields that are equal would keep theirs.
func (r *repair) lost(found [2]stored) string {
	for i, one := range found {
		if one.fields && r.keep != r.home() {
			return fmt.Sprintf("fields of the %s store's hash have an expiry (HEXPIRE), which a copy to the %s store would not have: "+
				"HPERSIST them in both stores, and give the key an expiry after the repair, or -keep %s",
				sideNames[i], sideNames[r.home()], sideNames[r.home()])
		}
	}
	return ""
}

// home is the store that every process uses for a key without a marker.
func (r *repair) home() int {
	if r.stage.Phase == cutover.Complete {
		return 1
	}
	return 0
}

// apply takes the value that stays to the home, and then deletes the other store's. Between the two steps, both
// stores have the same value.
func (r *repair) apply(ctx context.Context, found [2]stored) error {
	home := r.home()
	if r.keep != home {
		at := found[home]
		if r.written != nil && !at.value.Equal(*r.written) {
			return fmt.Errorf("a process changed the %s store's value, too", sideNames[home])
		}
		if err := r.replace(ctx, home, at, found[r.keep]); err != nil {
			return err
		}
		r.written = &found[r.keep].value
	}
	return r.replace(ctx, 1-home, found[1-home], stored{})
}

// replace changes the key in one store, if its value is still from.
func (r *repair) replace(ctx context.Context, side int, from, to stored) error {
	switch exists := from.value.Exists(); {
	case !exists && !to.value.Exists():
		return nil
	case exists && to.value.Exists() && from.value.Kind() != to.value.Kind():
		if err := r.replace(ctx, side, from, stored{}); err != nil {
			return err
		}
		from = stored{}
	}
	key := rmw.Key{Name: r.name, Kind: from.value.Kind(), TTL: rmw.NoTTL}
	if to.value.Exists() {
		key.Kind = to.value.Kind()
		if to.left > 0 {
			key.TTL = max(to.left, time.Millisecond)
		}
	}
	_, err := r.stores[side].Update(ctx, key, func(_ context.Context, cur rmw.Value) (rmw.Value, error) {
		if cur.Exists() != from.value.Exists() || cur.Exists() && !cur.Equal(from.value) {
			return cur, errChanged
		}
		return to.value, nil
	})
	if errors.Is(err, rmw.ErrWrongKind) {
		return errChanged
	}
	return err
}

// checkStores returns an error unless -old and -new are two stores: the other value of a key in one store is the same.
func (f *cutoverFlags) checkStores(ctx context.Context, s cutoverStores) (err error) {
	store, closeStore := f.store(s)
	defer func() { err = errors.Join(err, closeStore()) }()
	cfg := f.walkConfig(s)
	cfg.Masters = nil // a proxy in front of them refuses SCAN
	return operate.CheckStores(ctx, store, cfg)
}

// verifyKey verifies -key alone.
func (f *cutoverFlags) verifyKey(ctx context.Context, s cutoverStores) (report operate.Report, err error) {
	store, closeStore := f.store(s)
	defer func() { err = errors.Join(err, closeStore()) }()
	only := []operate.Scanner{oneName(f.key)}
	return operate.Verify(ctx, store, operate.VerifyConfig{Masters: only, NewMasters: only})
}

// oneName is a server that has one name.
type oneName string

func (n oneName) Scan(ctx context.Context, _ uint64, _ string, _ int64) *redis.ScanCmd {
	page := redis.NewScanCmd(ctx, nil)
	page.SetVal([]string{string(n)}, 0)
	return page
}

// String shows the value, but not all of a large one.
func (v stored) String() string {
	const most = 500
	if v.kind == "none" {
		return "absent"
	}
	text := v.kind
	if v.fields {
		text += ", fields with expiries"
	}
	if v.left > 0 {
		text += fmt.Sprintf(", %v left", v.left.Round(time.Millisecond))
	}
	content := fmt.Sprintf("%q", v.value.Text())
	if v.kind == "hash" {
		content = fmt.Sprintf("%q", v.value.Fields())
	}
	if len(content) > most {
		content = content[:most] + "…"
	}
	if v.value.Exists() {
		text += ": " + content
	}
	return text
}

// blob has bytes: as text if they are UTF-8, else as base64.
type blob struct {
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty"`
}

func blobOf(text string) blob {
	if utf8.ValidString(text) {
		return blob{Text: text}
	}
	return blob{Base64: []byte(text)}
}

// savedValue is a value in the file of -save.
type savedValue struct {
	Type   string `json:"type"`
	LeftMS int64  `json:"leftMs,omitempty"` // absent: no expiry
	Value  *blob  `json:"value,omitempty"`
	Fields []struct {
		Name  blob `json:"name"`
		Value blob `json:"value"`
	} `json:"fields,omitempty"`
}

func (v stored) saved() savedValue {
	s := savedValue{Type: v.kind, LeftMS: max(v.left, 0).Milliseconds()}
	if v.kind == "string" {
		text := blobOf(v.value.Text())
		s.Value = &text
	}
	for name, value := range v.value.All() {
		s.Fields = append(s.Fields, struct {
			Name  blob `json:"name"`
			Value blob `json:"value"`
		}{blobOf(name), blobOf(value)})
	}
	return s
}

// savedKey is a line in the file of -save.
type savedKey struct {
	At    time.Time  `json:"at"`
	Key   blob       `json:"key"`
	Stage string     `json:"stage"`
	Old   savedValue `json:"old"`
	New   savedValue `json:"new"`
}

// saveKey adds both values to the file of -save, and waits until the disk has them.
func (f *cutoverFlags) saveKey(stage cutover.Stage, found [2]stored) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(savedKey{time.Now().UTC(), blobOf(f.key), stage.String(), found[0].saved(), found[1].saved()}); err != nil {
		return err
	}
	file, err := os.OpenFile(f.save, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("-save: %w", err)
	}
	_, err = file.Write(line.Bytes())
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("-save: %w", err)
	}
	return nil
}

// checkRepair checks the flags of repair.
func (f *cutoverFlags) checkRepair(action string) error {
	switch {
	case action != "repair" && (f.set["key"] || f.set["keep"] || f.set["save"]):
		return errors.New("-key, -keep and -save are for repair")
	case action != "repair":
		return nil
	case f.key == "" || f.save == "":
		return errors.New("repair needs -key, and -save for a file that keeps both values")
	case f.keep == "" && f.dryRun:
		return nil
	case f.keep != sideNames[0] && f.keep != sideNames[1]:
		return errors.New("-keep is old or new: the store whose value stays; -dry-run shows both values")
	}
	return nil
}
