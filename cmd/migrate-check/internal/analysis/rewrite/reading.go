package rewrite

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// writeRead exchanges the read, and what is done about an absent key.
func (u *update) writeRead() error {
	r, c := &u.read, &u.read.check
	text, absent, present, lines := u.cur+".Text()", "!"+u.cur+".Exists()", u.cur+".Exists()", []string(nil)
	parser := parsers[r.conv]
	if r.method == "HGet" {
		ok := u.fresh("ok", "found", "present")
		absent, present = "!"+ok, ok
		if c.kind == neither && parser == "" {
			ok = "_"
		}
		field := fmt.Sprintf("%s.Field(%s)", u.cur, u.of(r.field))
		switch {
		case parser != "":
			text = u.fresh("text", "raw", "stored")
			lines = append(lines, fmt.Sprintf("%s, %s := %s", text, ok, field))
		case r.value == nil && ok == "_":
		case r.value == nil:
			lines = append(lines, fmt.Sprintf("_, %s := %s", ok, field))
		case r.conv == "Bytes":
			text = u.fresh("text", "raw", "stored")
			lines = append(lines, fmt.Sprintf("%s, %s := %s", text, ok, field))
		default:
			text = u.fresh("text", "raw", "stored")
			if u.info.Defs[r.value.(*ast.Ident)] != nil {
				text = u.of(r.value)
			}
			lines = append(lines, fmt.Sprintf("%s, %s := %s", text, ok, field))
		}
	}
	var stay string // the return of an error that is redis.Nil
	if c.kind == either && r.method != "HGetAll" {
		nilErr, err := u.nilError(c.pass.Pos())
		if err != nil {
			return err
		}
		stay = fmt.Sprintf("if %s {\nreturn %s, %s\n}", absent, u.cur, u.with(c.pass.Results[0], nilErr))
	}
	switch {
	case parser != "":
		if stay != "" {
			lines = append(lines, stay)
		}
		pkg, err := u.name("strconv", r.stmt.Pos())
		if err != nil {
			return err
		}
		value := "_"
		if r.value != nil {
			value = u.of(r.value)
		}
		lines = append(lines, fmt.Sprintf("%s, %s %s %s."+parser, value, u.of(r.stmt.Lhs[1]), r.stmt.Tok, pkg, text))
	case r.method == "HGetAll" && r.value != nil:
		pkg, err := u.name("maps", r.stmt.Pos())
		if err != nil {
			return err
		}
		lines = append(lines, u.assignValue(fmt.Sprintf("%s.Collect(%s.All())", pkg, u.cur)))
	default:
		if r.value != nil && text != u.of(r.value) {
			if r.conv == "Bytes" {
				text = "[]byte(" + text + ")"
			}
			lines = append(lines, u.assignValue(text))
		}
		if stay != "" {
			lines = append(lines, stay)
		}
		lines = append(lines, u.declareErr()...)
	}
	return u.writeCheck(strings.Join(lines, "\n"), absent, present, parser != "")
}

// writeCheck exchanges the read for some lines, and the checks behind it for others.
func (u *update) writeCheck(lines, absent, present string, parsed bool) error {
	r, c := &u.read, &u.read.check
	first := c.stmts[0].(*ast.IfStmt)
	switch {
	case c.kind == either && !parsed, c.kind == neither && !parsed:
		u.drop(r.stmt.Pos(), first.End(), lines)
		return nil
	}
	u.drop(r.stmt.Pos(), r.stmt.End(), lines)
	switch c.kind {
	case either:
	case neither:
		u.drop(c.cond.Pos(), c.cond.End(), fmt.Sprintf("%s != nil && %s", r.err.Name(), present))
	case elseIf:
		u.drop(c.cond.Pos(), c.cond.End(), absent)
		if parsed {
			break
		}
		second := first.Else.(*ast.IfStmt)
		end := second.End()
		if second.Else != nil {
			end = second.Body.End()
		}
		u.drop(first.Body.End(), end, "")
	case twoIfs:
		u.drop(c.cond.Pos(), c.cond.End(), absent)
		if !parsed {
			u.drop(first.Body.End(), c.stmts[1].End(), "")
		}
	case unlessNil:
		u.drop(c.cond.Pos(), c.cond.End(), absent)
		u.drop(c.block.List[0].Pos(), c.block.List[1].Pos(), "")
	}
	if c.block == nil {
		return nil
	}
	for _, use := range u.usesIn(c.block, r.err) {
		if r.covers(use.Pos()) {
			continue
		}
		nilErr, err := u.nilError(use.Pos())
		if err != nil {
			return err
		}
		u.replace(use.Pos(), use.End(), nilErr)
	}
	return nil
}

// drop exchanges a part of the file in which nothing else is to be changed.
func (u *update) drop(pos, end token.Pos, text string) {
	u.read.gone = append(u.read.gone, [2]token.Pos{pos, end})
	u.replace(pos, end, text)
}

func (u *update) nilError(pos token.Pos) (string, error) {
	pkg, err := u.name(u.redis.Path(), pos)
	return pkg + ".Nil", err
}

// with returns the text of an expression that ends with the error of the read, of another error.
func (u *update) with(e ast.Expr, other string) string {
	use := u.usesIn(e, u.read.err)[0]
	return u.between(e.Pos(), use.Pos()) + other + u.between(use.End(), e.End())
}

// assignValue assigns the value as the read did.
func (u *update) assignValue(text string) string {
	id := u.read.value.(*ast.Ident)
	op := "="
	if u.info.Defs[id] != nil {
		op = ":="
	}
	return fmt.Sprintf("%s %s %s", id.Name, op, text)
}

// declareErr declares the error's variable, if the read has and somebody assigns it later.
func (u *update) declareErr() []string {
	r := &u.read
	id := r.stmt.Lhs[len(r.stmt.Lhs)-1].(*ast.Ident)
	next := u.firstUse(r.check.stmts[len(r.check.stmts)-1].End())
	if u.info.Defs[id] == nil || next == nil || u.inCommit(next.Pos()) {
		return nil
	}
	if n := u.assigned(next); n != nil && n.Tok == token.DEFINE {
		return nil
	}
	return []string{"var " + id.Name + " error"}
}
