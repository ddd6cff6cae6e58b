package main

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// No password that an argument has is in an output, whatever the argument is, and wherever it is by mistake.
func TestPasswordsAreNotRepeated(t *testing.T) {
	t.Chdir(tree(t, map[string]string{"go.mod": "module example.com/m\n\ngo 1.26.0\n", "own.go": "package m\n"}))
	const gone = "127.0.0.1:1" // refuses connections
	var probeOf probeFlags
	var liveOf liveFlags
	var shadowOf shadowFlags
	var cutoverOf cutoverFlags
	secret := "hunter2" + strings.Repeat("-pa55w0rd", 2)
	long := "hunter2" + strings.Repeat("-pa55w0rd", 60)
	words := []string{
		"redis://u:" + secret + "@" + gone, "rediss://:" + secret + "@h/0", "redis://" + secret + "@" + gone, "redis://u:" + long + "@h:1",
		"http://u:" + secret + "@h:1/x?y=z", "u:" + secret + "@h:1", secret + "@h:6379", `redis://u:"` + secret + `\@h:1`,
		"redis://u:a b " + secret + "@h:1", gone + "?password=" + secret, gone + ",password=" + secret,
		gone + ",ssl=true,password=" + secret + ",x=1",
		"h?db=1&auth=" + secret, "password=" + secret, "redis://h:1?authToken=" + secret,
		gone + ";pwd=" + secret, "REDIS_PASSWORD=" + secret,
	}
	for _, command := range []struct {
		args     []string
		register func(flags *flag.FlagSet)
	}{
		{[]string{"probe", gone}, probeOf.register},
		{[]string{"live", gone, "-for", "1s"}, liveOf.register},
		{[]string{"shadow", "none.json"}, shadowOf.register},
		{[]string{"cutover", "status", "-name", "desk", "-old", gone, "-new", gone, "-timeout", "20ms"}, cutoverOf.register},
		{[]string{"./none"}, func(flags *flag.FlagSet) {
			(&checkFlags{}).flags().VisitAll(func(f *flag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
		}},
		{[]string{"explain"}, func(*flag.FlagSet) {}},
	} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		command.register(flags)
		var all [][]string
		for _, word := range words {
			all = append(all, []string{word}, append([]string{word}, command.args...), append(slices.Clone(command.args), word))
			if command.args[0] == "probe" || command.args[0] == "live" {
				all = append(all, []string{command.args[0], word, "-budget", "1s"}, []string{command.args[0], word, "-for", "1s"})
			}
		}
		flags.VisitAll(func(f *flag.Flag) {
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
				return
			}
			for i, word := range append(words, secret) {
				switch {
				case i%6 != len(f.Name)%6 && i < len(words), i == len(words) && !strings.HasPrefix(f.Name, "password"), f.Name == "http":
					continue // each flag with a part of the words, and flags of passwords with a password alone
				}
				all = append(all, append(slices.Clone(command.args), "-"+f.Name+"="+word))
			}
		})
		for _, args := range all {
			r := try(t.Context(), args...)
			assert.NotContains(t, r.stdout+r.stderr, "hunter2", args)
			assert.NotContains(t, r.stdout+r.stderr, "pa55w0rd", args)
		}
		t.Logf("%s: %d runs", command.args[0], len(all))
	}
}

// Only passwords are hidden: an error names the argument without them, and other arguments as they are.
func TestErrorsNameArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"-policy redis://***h:1: open":             {"shadow", "testdata/none", "-policy", "redis://u:hunter2@h:1"},
		"-policy h:1?***: open h:1?***: no such":   {"shadow", "testdata/none", "-policy", "h:1?password=hunter2"},
		"no profile named \"codix\"":               {"probe", "a:1", "-profile", "codix"},
		"there is no file pkg@v1.2 yet":            {"./...", "-baseline", "pkg@v1.2"},
		"there is no file token-list.json yet":     {"./...", "-baseline", "token-list.json"},
		"an address has no settings such as passw": {"live", "h:1,password=hunter2"},
	} {
		r := try(t.Context(), args...)
		assert.Contains(t, unwrapped(r.stderr), want, args)
	}
}
