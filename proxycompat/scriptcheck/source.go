package scriptcheck

import (
	"errors"
	"fmt"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

const (
	// maxSource limits the length of a script. Redis accepts longer ones, but none are known.
	maxSource = 1 << 20
	// maxDepth limits nesting. Lua itself stops at 200 (LUAI_MAXCCALLS), but does not count the links of a
	// chain such as a+b+c.
	maxDepth = 1000
)

// SyntaxError reports that a script does not parse.
type SyntaxError struct {
	Line   int // from 1
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("scriptcheck: line %d: %s", e.Line, e.Reason)
}

func parseScript(src string) (stmts []ast.Stmt, shebang bool, err error) {
	if len(src) > maxSource {
		return nil, false, &SyntaxError{1, fmt.Sprintf("%d bytes are too many, at most %d", len(src), maxSource)}
	}
	if strings.HasPrefix(src, "#!") {
		// Redis 7 removes the first line. Its newline stays, so that line numbers do not change.
		end := strings.IndexByte(src, '\n')
		if end < 0 {
			return nil, false, &SyntaxError{1, "nothing follows the first line"}
		}
		engine, _, _ := strings.Cut(strings.TrimSpace(src[2:end]), " ")
		if engine != "lua" {
			return nil, false, &SyntaxError{1, fmt.Sprintf("the engine is %q, not lua", engine)}
		}
		shebang, src = true, src[end:]
	}
	stmts, err = parse.Parse(strings.NewReader(src), "script")
	if err == nil && stmts == nil {
		err = errors.New("the parser gave up") // it drops panics whose value is no error
	}
	if err != nil {
		return nil, shebang, syntaxError(src, err)
	}
	return stmts, shebang, nil
}

func syntaxError(src string, err error) *SyntaxError {
	var at *parse.Error
	if !errors.As(err, &at) {
		return &SyntaxError{1, err.Error()}
	}
	if at.Pos.Line == parse.EOF {
		return &SyntaxError{1 + strings.Count(strings.TrimRight(src, "\r\n"), "\n"), at.Message + " at the end"}
	}
	return &SyntaxError{max(at.Pos.Line, 1), fmt.Sprintf("%s near %q", at.Message, at.Token)}
}
