package proxycompat

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed commands.tsv
var commandFile string

// commandTable is shared by all profiles, so it is parsed once.
var commandTable = sync.OnceValue(func() map[string]*Command {
	table, err := parseCommands(commandFile)
	if err == nil {
		err = addArguments(table, argumentFile)
	}
	if err != nil {
		panic(err) // the table is embedded, and a test parses it
	}
	return table
})

// Command describes a command of Redis.
type Command struct {
	Name  string  // upper case; a subcommand with its container: "SCRIPT LOAD"
	Since Version // of Redis that introduced it
	Group string  // as in the documentation of Redis: "string", "scripting", …

	keys  keySpec
	flags string
	arity int // as in COMMAND INFO; 0: unknown

	arguments []Argument // newer than the command
}

// Commands returns the commands of Redis up to 8.10, with its bundled modules, and of Valkey 9 up to 9.1,
// sorted by name. A command of both has the version of Redis.
func Commands() []Command {
	table := commandTable()
	out := make([]Command, 0, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		out = append(out, *table[name])
	}
	return out
}

// Keys returns the indices in args of all keys. args[0] is the command.
func (c Command) Keys(args []string) []int { return c.keys.in(args) }

// States returns the number of keys that a count argument declares, if the command has one.
func (c Command) States(args []string) (n int, counted bool) {
	l := c.keys.find(len(args), wordsOf(args))
	return l.stated, l.stated >= 0
}

// ReadOnly reports whether the command only reads data. It is false for scripts, which may write.
func (c Command) ReadOnly() bool { return strings.Contains(c.flags, "r") }

// Writes reports whether the command may change data.
func (c Command) Writes() bool { return strings.Contains(c.flags, "w") }

// Blocks reports whether the command may block its connection.
func (c Command) Blocks() bool { return strings.Contains(c.flags, "b") }

// Fits reports whether a server accepts this number of words, including the command name. It is true if the
// arity of the command is unknown.
func (c Command) Fits(words int) bool {
	if c.arity < 0 {
		return words >= -c.arity
	}
	return c.arity == 0 || words == c.arity
}

// Subcommand reports whether the command is a subcommand.
func (c Command) Subcommand() bool { return strings.Contains(c.Name, " ") }

// KeysOf returns the indices in args of all keys, and whether Redis has the command args[0]. For hash tags
// and slots, see [Profile.SameSlot].
func KeysOf(args ...string) (keys []int, known bool) {
	c, known := CommandOf(args...)
	return c.Keys(args), known
}

// CommandOf returns the command that args would run, and whether Redis has it. args[0] is the name.
func CommandOf(args ...string) (c Command, known bool) {
	for n := min(2, len(args)); n > 0; n-- {
		if found := commandTable()[strings.ToUpper(strings.Join(args[:n], " "))]; found != nil {
			return *found, true
		}
	}
	return Command{}, false
}

func wordsOf(args []string) func(i int) string { return func(i int) string { return args[i] } }

// in lists the keys in args.
func (k keySpec) in(args []string) []int {
	var out []int
	l := k.find(len(args), wordsOf(args))
	l.each(func(i int) bool {
		out = append(out, i)
		return true
	})
	return out
}

// Version is a major and minor version of Redis. The zero Version is unknown.
type Version struct{ Major, Minor int }

// ParseVersion parses "6.2". It accepts "6.2.14" and drops the patch number.
func ParseVersion(s string) (Version, error) {
	var v Version
	major, rest, _ := strings.Cut(s, ".")
	minor, _, _ := strings.Cut(rest, ".")
	var err1, err2 error
	v.Major, err1 = strconv.Atoi(major)
	v.Minor, err2 = strconv.Atoi(minor)
	if err1 != nil || err2 != nil || v.Major < 1 || v.Minor < 0 {
		return Version{}, fmt.Errorf("proxycompat: bad version %q: want one such as 6.2", s)
	}
	return v, nil
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

func parseCommands(text string) (map[string]*Command, error) {
	table := map[string]*Command{}
	err := eachRow("commands.tsv", text, func(f []string) error {
		since, err := ParseVersion(f[1])
		if err != nil {
			return err
		}
		keys, err := parseKeys(f[2])
		if err != nil {
			return err
		}
		arity, err := strconv.Atoi(f[5])
		if err != nil && f[5] != "-" {
			return fmt.Errorf("bad arity %q", f[5])
		}
		if table[f[0]] != nil {
			return fmt.Errorf("a second row for %s", f[0])
		}
		table[f[0]] = &Command{Name: f[0], Since: since, Group: f[4], keys: keys, flags: strings.Trim(f[3], "-"), arity: arity}
		return nil
	})
	return table, err
}

// eachRow calls f for each row of a table, with six fields. Empty lines and those that start with "#" are no rows.
func eachRow(file, text string, f func(fields []string) error) error {
	for i, line := range strings.Split(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 6 {
			return fmt.Errorf("proxycompat: %s:%d: want 6 fields separated by tabs, got %d", file, i+1, len(fields))
		}
		if err := f(fields); err != nil {
			return fmt.Errorf("proxycompat: %s:%d: %w", file, i+1, err)
		}
	}
	return nil
}
