package rewrite_test

import (
	"fmt"
	"go/format"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/cmd/migrate-check/internal/fixer"
	"github.com/unwatch/unwatch/internal/testing/long"
)

// chance generates random functions from common and from refused statements.
type chance struct{ *rand.Rand }

func (c chance) of(all ...string) string { return all[c.IntN(len(all))] }

// seldom is for refused statements: else nearly all functions would be refused.
func (c chance) seldom(text string) string {
	if c.IntN(25) == 0 {
		return text
	}
	return ""
}

// read returns a statement that reads, with the check behind it, and expressions of the value v to store.
func (c chance) read() (text string, stored []string, hash bool) {
	conv, zero := c.of("Result", "Result", "Int", "Int64", "Uint64", "Float64", "Bool", "Bytes"), "0"
	call := "Get(ctx, KEY)"
	if c.IntN(3) == 0 {
		call, hash = c.of(`HGet(ctx, KEY, "f")`, `HGet(ctx, KEY, "f")`, `HGet(ctx, KEY, s.field())`), true
	}
	switch conv {
	case "Result":
		zero, stored = `"none"`, []string{"v", `v + text`, `strings.ToUpper(v)`, "len(v)", "pure(v)"}
	case "Bytes":
		zero, stored = `[]byte("none")`, []string{"v", "string(v) + text", "append(v, text...)", "len(v)", "isNil(v)"}
	case "Bool":
		zero, stored = "true", []string{"on(v)", "fmt.Sprint(v)", "n"}
	case "Uint64":
		stored = []string{"v + 1", "uint32(v)", "strconv.FormatUint(v, 16)"}
	case "Float64":
		stored = []string{"v / 4", "float32(v)", "int(v)"}
	default:
		stored = []string{"v + 1", "n", "strconv.Itoa(int(v))", "uint8(v)"}
	}
	stored = append(stored, c.seldom("level(text)"), "s.effect(text)", "text + fmt.Sprint(err)")
	isNil := c.of("err == redis.Nil", "errors.Is(err, redis.Nil)")
	notNil := c.of("err != redis.Nil", "!errors.Is(err, redis.Nil)")
	ret := c.of("err", "err", `fmt.Errorf("read %s: %w", key, err)`, c.seldom("errRefused"))
	if ret == "" {
		ret = "err"
	}
	if c.IntN(6) == 0 && call[0] == 'H' {
		stored = []string{`v["f"]`, "len(v)", `v["g"] + text`}
		return "v, err := tx.HGetAll(ctx, KEY).Result()\nif err != nil {\nreturn " + ret + "\n}\n", stored, true
	}
	text = fmt.Sprintf("v, err := tx.%s.%s()%s\n", call, conv, c.of("", " // what there is"))
	switch c.IntN(5) {
	case 0:
		text += "if err != nil {\nreturn " + ret + "\n}\n"
	case 1:
		text += "if " + isNil + " {\nv = " + zero + "\n} else if err != nil {\nreturn " + ret + "\n}\n"
	case 2:
		text += "if " + isNil + " {\nreturn " + c.of("nil", "errRefused", "err") + "\n}\nif err != nil {\nreturn " + ret + "\n}\n"
	case 3:
		text += "if err != nil {\nif " + notNil + " {\nreturn " + ret + "\n}\nv = " + zero + "\n}\n"
	default:
		text += "if err != nil && " + notNil + " {\nreturn " + ret + "\n}\n"
	}
	return text, stored, hash
}

// middle returns the statements between the read and the write.
func (c chance) middle() string {
	return c.of("", "", "// As it is.\n") +
		c.of("", "", "if n > 5 {\nreturn nil\n}\n", "if fmt.Sprint(v) == \"x y\" {\nreturn errRefused\n}\n") +
		c.of("", "", "kept = fmt.Sprint(v)\n",
			"all := strings.Fields(fmt.Sprint(v))\nslices.Sort(all)\ntext = strings.Join(all, \",\")\n") +
		c.of("", "", "tries++\n", "s.log = append(s.log, text)\n", "s.log = append(s.log, s.effect(text))\n") +
		c.seldom("defer s.effect(text)\n") +
		c.of("", "", "if n < 0 {\nkept = text\n}\n", "alias := s.names\nalias[text] += \"x\"\n", "func() { kept += text }()\n") +
		c.of("", "", "", "if err == redis.Nil {\nkept += \"new\"\n}\n") +
		c.seldom("if n == 4 {\nreturn redis.TxFailedErr\n}\n") + c.seldom("key += \"x\"\n")
}

// write returns the statements that write.
func (c chance) write(stored []string, hash bool) string {
	value := c.of(stored...)
	if value == "" {
		value = "text"
	}
	ttl := c.of("0", "redis.KeepTTL", "time.Hour", "ttl", "1500*time.Millisecond")
	cmd := c.of("Set(ctx, KEY, "+value+", "+ttl+")", "Set(ctx, KEY, "+value+", "+ttl+")", "Del(ctx, KEY)")
	if hash {
		cmd = c.of(`HSet(ctx, KEY, "f", `+value+`)`, `HSet(ctx, KEY, "f", text, "g", `+value+`)`,
			`HDel(ctx, KEY, "f", "g")`, "Del(ctx, KEY)")
	}
	if c.IntN(20) == 0 {
		cmd = c.of("SetNX(ctx, KEY, "+value+", 0)", "Append(ctx, KEY, text)", "Set(context.TODO(), KEY, "+value+", 0)")
	}
	cmd += c.of("", "", "", " // it")
	tail := c.of("return err\n", "if err != nil {\nreturn err\n}\nreturn nil\n")
	if c.IntN(10) == 0 {
		tail = "if err != nil {\nreturn fmt.Errorf(\"write: %w\", err)\n}\nreturn nil\n"
	}
	switch c.IntN(4) {
	case 0:
		return "pipe := tx.TxPipeline()\npipe." + cmd + "\n_, err = pipe.Exec(ctx)\n" + tail
	case 1:
		if !strings.Contains(cmd, "//") {
			return "_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {\nreturn pipe." + cmd + ".Err()\n})\n" + tail
		}
	case 2:
		return "if _, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {\npipe." + cmd +
			"\nreturn nil\n}); err != nil {\nreturn err\n}\nreturn nil\n"
	}
	return "_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {\npipe." + cmd + "\nreturn nil\n})\n" + tail
}

// function returns a function of a given name.
func (c chance) function(name string) string {
	read, stored, hash := c.read()
	fn := "func(tx *redis.Tx) error {\n" + read + c.middle() + "_ = v\n" + c.write(stored, hash) + "}"
	watch, before := "s.rdb.Watch(ctx, "+fn+", KEY)", ""
	switch c.IntN(5) {
	case 0:
		watch, before = "s.rdb.Watch(ctx, change, KEY)", "change := "+fn+"\n"
	case 1:
		watch = "s.rdb.Watch(ctx, " + fn + ",\nKEY, // this one\n)"
	}
	again := c.of("err == redis.TxFailedErr", "errors.Is(err, redis.TxFailedErr)")
	body := ""
	switch c.IntN(6) {
	case 0:
		body = "for {\nerr := " + watch + "\nif " + again + " {\ncontinue\n}\nreturn err\n}\n"
	case 1:
		body = "for range 50 {\nerr := " + watch + "\nif err == nil {\nreturn nil\n}\nif " + again +
			" {\ncontinue\n}\nreturn err\n}\nreturn errRefused\n"
	case 2:
		body = "err := " + watch + "\nreturn err\n"
	case 3:
		body = "if err := " + watch + "; err != nil {\nreturn fmt.Errorf(\"change: %w\", err)\n}\nreturn nil\n"
	default:
		body = "return " + watch + "\n"
	}
	key := c.of("key", "key", "keyOf(key)", `key + ""`)
	return strings.ReplaceAll(fmt.Sprintf(`
func (s *Service) %s(ctx context.Context, key, text string, n int, ttl time.Duration) (string, error) {
	var kept string
	tries := 0
	run := func() error {
		%s%s	}
	err := run()
	return fmt.Sprint(kept, tries, s.log, s.names), err
}
`, name, before, body), "KEY", key)
}

const chanceHead = `// Package PKG is put together by chance.
package PKG

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/unwatch/unwatch/rmw"
)

type Service struct {
	rdb   *redis.Client
	store rmw.Store
	log   []string
	names map[string]string
}

type level string

var errRefused = errors.New("refused")

var _, _, _, _ = slices.Sort[[]string], strconv.Itoa, errors.Is, fmt.Sprint // to keep the imports

func New(rdb *redis.Client, store rmw.Store) *Service {
	return &Service{rdb, store, nil, map[string]string{}}
}

func keyOf(key string) string { return key + ":" + strconv.Itoa(len(key)) }
func pure(text string) string { return strings.TrimSpace(text) + "." }
func isNil(raw []byte) string { return strconv.FormatBool(raw == nil) }
func on(v bool) int {
	if v {
		return 1
	}
	return 0
}
func (s *Service) field() string { return "f" }
func (s *Service) effect(text string) string {
	s.log = append(s.log, text)
	return text
}

type function = func(ctx context.Context, key, text string, n int, ttl time.Duration) (string, error)
`

// A random function is refused, or its rewritten version compiles and behaves the same. UNWATCH_SEED sets the seed.
func TestLongRandomFunctionsKeepBehaviour(t *testing.T) {
	long.Only(t)
	seed := uint64(1)
	if text := os.Getenv("UNWATCH_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	c := chance{rand.New(rand.NewPCG(seed, 0))}
	const count = 30
	var b, all strings.Builder
	b.WriteString(chanceHead)
	for i := range count {
		name := fmt.Sprintf("f%02d", i)
		b.WriteString(c.function(name))
		fmt.Fprintf(&all, "%q: s.%s,\n", name, name)
	}
	fmt.Fprintf(&b, "\nfunc (s *Service) All() map[string]function {\nreturn map[string]function{\n%s}\n}\n", &all)
	text, err := format.Source([]byte(b.String()))
	require.NoError(t, err, b.String())

	dir := moduleBeside(t)
	for _, pkg := range []string{"before", "after"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, pkg), 0o700))
		own := strings.ReplaceAll(string(text), "PKG", pkg)
		require.NoError(t, os.WriteFile(filepath.Join(dir, pkg, "gen.go"), []byte(own), 0o600))
	}
	fixes, unfixed := fixesOf(t, filepath.Join(dir, "after"))
	r, err := fixer.Apply(t.Context(), fixes, fixer.Options{Root: filepath.Join(dir, "after")})
	require.NoError(t, err)
	require.Empty(t, r.Dropped, "what does not compile is not to be offered")
	t.Logf("seed %d: %d changed, %d refused", seed, len(r.Applied), len(unfixed))
	for _, why := range unfixed {
		require.NotContains(t, why, "each other's way")
		require.NotContains(t, why, "would not be Go")
	}
	require.Equal(t, count, len(fixes)+len(unfixed))
	require.Greater(t, len(r.Applied), count/6, "else it says nothing")

	main, err := os.ReadFile("testdata/chance/main.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), main, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		after, readErr := os.ReadFile(filepath.Join(dir, "after/gen.go"))
		require.NoError(t, readErr)
		t.Fatalf("%v\n%.4000s\n%s", err, out, after)
	}
}
