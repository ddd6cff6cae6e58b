package resp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/unwatch/unwatch/internal/resp"
)

func TestMeaningSaysWhetherToTryAgain(t *testing.T) {
	for text, want := range map[string]struct {
		means     resp.Meaning
		temporary bool
	}{
		"LOADING Redis is loading the dataset in memory":                            {resp.Loading, true},
		"-READONLY You can't write against a read only slave.  ":                    {resp.ReadOnly, true},
		"EXECABORT Transaction discarded because of: READONLY You can't write":      {resp.ReadOnly, true},
		"MASTERDOWN Link with MASTER is down":                                       {resp.Elsewhere, true},
		"ERR max number of clients reached":                                         {resp.Full, true},
		"-ERR max number of clients + cluster connections reached":                  {resp.Full, true},
		"ERR max number of clients reached, only 1":                                 {resp.Full, true},
		"OOM command not allowed when used memory > 'maxmemory'.":                   {resp.NoSpace, true},
		"NOREPLICAS Not enough good replicas to write.":                             {resp.NoReplicas, true},
		"ERR handle request, slot is not ready, may be offline":                     {resp.Passing, true},
		"ERR handle response, backend conn reset":                                   {resp.Lost, true},
		"ERR handle request, backend conn reset":                                    {resp.Lost, true},
		"IOERR error or timeout reading to target instance":                         {resp.Lost, true},
		"MOVED 3999 192.0.2.1:6381":                                                 {resp.Moved, false},
		"ASK 3999 192.0.2.1:6381":                                                   {resp.Asked, false},
		"NOSCRIPT No matching script. Please use EVAL.":                             {resp.NoScript, false},
		"DENIED Redis is running in protected mode":                                 {resp.Denied, false},
		"NOAUTH Authentication required.":                                           {resp.Password, false},
		"NOPERM this user has no permissions to run the 'watch' command":            {resp.Forbidden, false},
		"ERR handle request, command 'WATCH' is not allowed":                        {resp.Refused, false},
		"ERR wrong number of arguments for 'get' command":                           {resp.Misused, false},
		"ERR value is not an integer or out of range":                               {resp.NotRun, false},
		"WRONGTYPE Operation against a key holding the wrong kind of value":         {resp.WrongType, false},
		"ERR Invalid argument: WRONGTYPE Operation against a key holding the wrong": {resp.WrongType, false},
		"ERR MOVE is not allowed in cluster mode":                                   {resp.Declined, false},
		"ERR something else":                                                        {resp.Unclear, false},
	} {
		assert.Equal(t, want.means, resp.MeaningOf(text), text)
		assert.Equal(t, want.temporary, resp.MeaningOf(text).Temporary(), text)
		assert.Equal(t, want.means > resp.Lost, resp.MeaningOf(text).NotDone(), text)
	}
}

// No other file compares an error reply with a text of its own, so that a text is added in one place.
func TestOnlyTheTableKnowsReplyTexts(t *testing.T) {
	others := map[string]string{
		"cas/exec.go: syntax error":          "only that of a SET with KEEPTTL",
		"cas/execall.go: syntax error":       "as in exec.go",
		"cas/exec.go: EXECABORT":             "finds the refused command of a transaction, for any meaning",
		"cas/decision.go: EXECABORT":         "as in exec.go",
		"cas/peek.go: EXECABORT":             "as in exec.go",
		"internal/redisx/drop.go: EXECABORT": "tells that the transaction has ended, for any meaning",
	}
	for _, folder := range []string{
		"cas", "cutover", "lockupdate", "proxycompat", "internal/live", "internal/probe", "internal/redisx", "internal/testing/servers",
	} {
		files, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, folder)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, text := range compared(t, file) {
				where := folder + "/" + filepath.Base(file) + ": " + text
				if m := resp.MeaningOf(text); m != resp.Unclear && m != resp.Declined && others[where] == "" {
					t.Errorf("%s: ask resp.MeaningOf", where)
				}
				delete(others, where)
			}
		}
	}
	assert.Empty(t, others, "nothing compares with these any more")
}

// compared returns the constant texts with which a file compares others: arguments of functions of package strings
// and of HasErrorPrefix, elements of lists, operands of ==.
func compared(t *testing.T, path string) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	add := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				require.NoError(t, err)
				texts = append(texts, text)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok {
				if in, _ := f.X.(*ast.Ident); in != nil && in.Name == "strings" || f.Sel.Name == "HasErrorPrefix" {
					add(n.Args...)
				}
			}
		case *ast.CompositeLit:
			add(n.Elts...)
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				add(n.X, n.Y)
			}
		}
		return true
	})
	return texts
}
