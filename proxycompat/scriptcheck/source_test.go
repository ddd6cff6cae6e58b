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

func TestSyntaxError(t *testing.T) {
	tests := []struct {
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
		{"too many links", "return 1" + strings.Repeat("+1", 5000), 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, err := scriptcheck.CheckScript(proxycompat.Codis32(), test.script)
			var at *scriptcheck.SyntaxError
			require.ErrorAs(t, err, &at)
			assert.Equal(t, test.line, at.Line, "%v", err)
			assert.Empty(t, found)
		})
	}
}

func TestManyElseIfsAreNotNested(t *testing.T) {
	script := "local k = KEYS[1]\nif ARGV[1] == '0' then return 0\n" +
		strings.Repeat("elseif ARGV[1] == '1' then k = KEYS[1]\n", 1200) + "else k = 'x' end\nreturn redis.call('GET', k)"
	found, err := scriptcheck.CheckScript(proxycompat.Codis32(), script)
	require.NoError(t, err)
	assert.Equal(t, []string{"1204 undeclared-key GET"}, brief(found))
}

func TestEndlessElseIfsExceedTheLimit(t *testing.T) {
	script := "if ARGV[1] then return 0 " + strings.Repeat("elseif a then ", 70000) + "end"
	_, err := scriptcheck.CheckScript(proxycompat.Codis32(), script)
	var at *scriptcheck.SyntaxError
	require.ErrorAs(t, err, &at)
}

func TestEmptyScriptIsFine(t *testing.T) {
	for _, script := range []string{"", "\n", "-- nothing"} {
		found, err := scriptcheck.CheckScript(proxycompat.Codis32(), script)
		require.NoError(t, err)
		assert.Empty(t, found)
	}
}

// The scripts of this project have no findings.
func TestOwnScriptsAreFine(t *testing.T) {
	var files []string
	subscribes := map[string]bool{"redis": true, "redis@3.2": true, alibaba: true}
	for _, pattern := range []string{"../../lockupdate/internal/driver/lua/*.lua", "../../lockupdate/redlock/lua/*.lua"} {
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
				assert.Equal(t, []string{"19 unheard PUBLISH"}, brief(found), name)
				continue
			}
			if filepath.Base(file) == "commit_string.lua" && strings.HasSuffix(name, "@3.2") { // the script handles the error
				assert.Equal(t, []string{"48 too-new SET"}, brief(found), name)
				continue
			}
			assert.Empty(t, found, "%s, %s", filepath.Base(file), name)
		}
	}
}

// No script keeps the checker busy for long.
func TestComplexScriptExceedsTheLimit(t *testing.T) {
	calls := "f0()"
	script := strings.Builder{}
	script.WriteString("local function f0() return redis.call('GET', KEYS[1]) end\n")
	for range 14 {
		script.WriteString("local f1 = function() " + strings.Repeat(calls+" ", 8) + "end\nlocal f0 = function() " +
			strings.Repeat("f1() ", 8) + "end\n")
	}
	script.WriteString("f0()")
	found, err := scriptcheck.CheckScript(proxycompat.Codis32(), script.String())
	require.NoError(t, err)
	require.NotEmpty(t, found)
	assert.Equal(t, scriptcheck.CannotTell, found[0].Rule)
}

func TestManyVariablesAtManyBranchesExceedTheLimit(t *testing.T) {
	script := strings.Builder{}
	variables := func(format string) {
		for i := range 10000 {
			fmt.Fprintf(&script, format, i)
		}
	}
	variables("local a%d ")
	script.WriteString(strings.Repeat("if ARGV[1] then ", 900))
	variables("a%d = 1 ")
	script.WriteString(strings.Repeat("end ", 900) + "redis.call('GET', KEYS[1])")
	found, err := scriptcheck.CheckScript(proxycompat.Codis32(), script.String())
	require.NoError(t, err)
	assert.Equal(t, []string{"1 cannot-tell script"}, brief(found))
}

func TestTablesInEachOther(t *testing.T) {
	_, err := scriptcheck.CheckScript(proxycompat.Codis32(), `
local a, b = {}, {}
a.x, b.x, a.y, b.y = b, a, a, b
for i = 1, 3 do if ARGV[i] then a, b = b, a; a[i] = b else a.x = b.y end end
return redis.call('GET', a.x.x.y)`)
	require.NoError(t, err)
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
