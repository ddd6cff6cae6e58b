package scriptcheck_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/proxycompat"
	"github.com/unwatch/unwatch/proxycompat/scriptcheck"
)

// alibaba is a proxy that reads scripts.
const alibaba = "alibaba"

func profile(t testing.TB, name string) *proxycompat.Profile {
	t.Helper()
	p, err := proxycompat.Lookup(name)
	require.NoError(t, err)
	return p
}

// brief returns "line rule command" of each finding, separated by semicolons.
func brief(found []scriptcheck.Finding) string {
	var out []string
	for _, f := range found {
		out = append(out, fmt.Sprintf("%d %s %s", f.Line, f.Rule, f.Command))
	}
	return strings.Join(out, "; ")
}

// example is a script and its findings in brief.
type example struct {
	name    string
	profile string
	script  string
	want    string
}

func run(t *testing.T, examples []example) {
	t.Helper()
	for _, e := range examples {
		t.Run(e.name, func(t *testing.T) {
			found, err := scriptcheck.CheckScript(profile(t, e.profile), e.script)
			require.NoError(t, err)
			assert.Equal(t, e.want, brief(found), "%v", found)
			for _, f := range found {
				assert.NotEmpty(t, f.Why)
				assert.NotContains(t, f.String(), "%!")
			}
		})
	}
}

func TestSyntaxError(t *testing.T) {
	for _, test := range []struct {
		name, script string
		line         int
	}{
		{"no Lua", "return 1\nif then", 2},
		{"no end", "if x then\n  return 1\n", 2},
		{"bad token", "local a\nlocal b = 1 $ 2", 2},
		{"text", "return 'abc", 1},
		{"goto", "local x\n::again::\ngoto again", 2},
		{"another engine", "#!js\nreturn 1", 1},
		{"no more than a shebang", "#!lua", 1},
		{"too long", strings.Repeat(" ", 1<<20+1), 1},
		{"too deep", "return " + strings.Repeat("not ", 5000) + "1", 1},
		{"too many branches", "if ARGV[1] then return 0 " + strings.Repeat("elseif a then ", 70000) + "end", 1},
		{"too many links", "return 1" + strings.Repeat("+1", 5000), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			found, err := scriptcheck.CheckScript(proxycompat.Codis32(), test.script)
			var at *scriptcheck.SyntaxError
			require.ErrorAs(t, err, &at)
			assert.Equal(t, test.line, at.Line, "%v", err)
			assert.Empty(t, found)
		})
	}
}

// The scripts of this project have no findings.
func TestOwnScriptsAreFine(t *testing.T) {
	var files []string
	subscribes := map[string]bool{"redis": true, "redis@3.2": true, alibaba: true}
	for _, pattern := range []string{
		"../../lockupdate/internal/driver/lua/*.lua", "../../lockupdate/redlock/lua/*.lua", "../../sealed/*.lua",
	} {
		some, err := filepath.Glob(filepath.FromSlash(pattern))
		require.NoError(t, err)
		require.NotEmpty(t, some)
		files = append(files, some...)
	}
	for _, file := range files {
		script, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range []string{"codis", "codis@3.2", "twemproxy", "twemproxy@3.2", "redis", "redis@3.2", alibaba} {
			found, err := scriptcheck.CheckScript(profile(t, name), string(script))
			require.NoError(t, err)
			if filepath.Base(file) == "release_notify.lua" && !subscribes[name] { // opt-in, where Redisson can subscribe
				assert.Equal(t, "22 unheard PUBLISH", brief(found), name)
				continue
			}
			if filepath.Base(file) == "commit_string.lua" && strings.HasSuffix(name, "@3.2") { // the script handles the error
				assert.Equal(t, "55 too-new SET", brief(found), name)
				continue
			}
			assert.Empty(t, found, "%s, %s", filepath.Base(file), name)
		}
	}
}

// No script keeps the checker busy for long.
func TestLongScripts(t *testing.T) {
	calls, variables, assignments := strings.Builder{}, strings.Builder{}, strings.Builder{}
	for range 14 {
		calls.WriteString("local f1 = function() " + strings.Repeat("f0() ", 8) + "end\n")
		calls.WriteString("local f0 = function() " + strings.Repeat("f1() ", 8) + "end\n")
	}
	for i := range 10000 {
		fmt.Fprintf(&variables, "local a%d ", i)
		fmt.Fprintf(&assignments, "a%d = 1 ", i)
	}
	const get = "redis.call('GET', KEYS[1])"
	run(t, []example{
		{"empty", "codis", "", ""},
		{"empty line", "codis", "\n", ""},
		{"comment", "codis", "-- nothing", ""},
		{"elseifs are not nested", "codis", "local k = KEYS[1]\nif ARGV[1] == '0' then return 0\n" +
			strings.Repeat("elseif ARGV[1] == '1' then k = KEYS[1]\n", 1200) + "else k = 'x' end\nreturn redis.call('GET', k)",
			"1204 undeclared-key GET"},
		{"calls", "codis", "local function f0() return " + get + " end\n" + calls.String() + "f0()", "29 cannot-tell script"},
		{"many variables at many branches", "codis", variables.String() + strings.Repeat("if ARGV[1] then ", 900) +
			assignments.String() + strings.Repeat("end ", 900) + get, "1 cannot-tell script"},
		{"tables in each other", "codis", `local a, b = {}, {}; a.x, b.x, a.y, b.y = b, a, a, b
			for i = 1, 3 do if ARGV[i] then a, b = b, a; a[i] = b else a.x = b.y end end; redis.call('GET', a.x.x.y)`,
			"2 cannot-tell GET"},
	})
}

func TestAllowTagged(t *testing.T) {
	found, err := scriptcheck.CheckScript(proxycompat.Codis32().AllowTagged(), `return redis.call('GET', KEYS[2])`)
	require.NoError(t, err)
	assert.Empty(t, found)
}

func TestFindingInOneLine(t *testing.T) {
	f := scriptcheck.Finding{Line: 3, Rule: scriptcheck.UndeclaredKey, Command: "GET", Why: "why"}
	assert.Equal(t, "line 3: undeclared-key: GET: why", f.String())
	f.Instead = "that"
	assert.Equal(t, "line 3: undeclared-key: GET: why; instead: that", f.String())
}

// Any text is checked, or is reported as invalid Lua.
func FuzzCheckScript(f *testing.F) {
	for _, seed := range []string{
		"", "#!lua\nreturn 1", "return redis.call('GET', KEYS[1])", "for i, k in ipairs(KEYS) do redis.pcall('DEL', k) end",
		"local t = {redis.call, x = 1, [2] = {}}; t.t = t; t[#t+1] = t; return unpack(t)",
		"local function f(...) return f(select(2, ...)) end return f(1, 2, 3)", "function a.b:c(x) return self, x end a.b:c()",
		"error({err = 'x' .. 1})", "while a do repeat local b = a until b end", "return ('x'):rep(3), #KEYS, -1, not nil, 2^3 % 1",
		"redis.call()", "redis.call(unpack{})", "pcall()", "xpcall(redis.call, 'GET')", "table.insert(KEYS)", "a, b = b", "redis.call('')",
		"return {" + strings.Repeat("{", 50) + strings.Repeat("}", 50) + "}", "redis.call('SORT', KEYS[1], 'STORE')",
		"for i in next, KEYS do end",
	} {
		f.Add(seed)
	}
	profiles := []*proxycompat.Profile{profile(f, "codis@3.2"), profile(f, "twemproxy"), profile(f, "redis"), profile(f, alibaba)}
	f.Fuzz(func(t *testing.T, script string) {
		for _, p := range profiles {
			found, err := scriptcheck.CheckScript(p, script)
			var syntax *scriptcheck.SyntaxError
			if err != nil && !errors.As(err, &syntax) {
				t.Fatal(err)
			}
			for _, each := range found {
				if each.Line < 1 || each.Rule == "" || each.Command == "" || each.Why == "" {
					t.Fatalf("%+v", each)
				}
			}
		}
	})
}
