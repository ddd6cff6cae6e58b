package rewrite

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
	"time"
)

// commit is the write of the key.
type commit struct {
	*pipeline
	stmts  []ast.Stmt // the last of the function
	method string     // "Set"
	key    ast.Expr
	args   []ast.Expr // behind the key
}

func (c *commit) pos() token.Pos { return c.stmts[0].Pos() }

// findCommit finds the statements that write, which are the last ones of the function.
func (u *update) findCommit() error {
	call, c := u.uses[1].call, &u.commit
	list := u.fn.Body.List
	for i, stmt := range list {
		if within(stmt, call.Pos()) {
			c.stmts = list[i:]
		}
	}
	p, err := u.oneCommand(call, c.stmts)
	if err != nil {
		return err
	}
	c.pipeline = p
	if err := u.ending(); err != nil {
		return err
	}
	return u.written()
}

// ending reads the statements behind the write, which return its error and do nothing else.
func (u *update) ending() error {
	unusual := errors.New("after the write, more happens than that its error is returned")
	first, tail := head(u.commit.rest[0])
	tail = append(tail, u.commit.rest[1:]...)
	n, ok := first.(*ast.AssignStmt)
	if _, returned := first.(*ast.ReturnStmt); returned {
		return unusual
	}
	if !ok || len(n.Lhs) != 2 || len(n.Rhs) != 1 {
		return errors.New("the write is one of several branches, or its result is used in an unusual way")
	}
	if ast.Unparen(n.Rhs[0]) != ast.Expr(u.commit.exec) {
		return unusual
	}
	if id, ok := n.Lhs[0].(*ast.Ident); !ok || id.Name != "_" {
		return errors.New("the answers of the pipeline are kept")
	}
	err := u.object(n.Lhs[1])
	if err == nil {
		return errors.New("the error of the write is thrown away")
	}
	if !within(u.fn, err.Pos()) {
		return fmt.Errorf("%s, which is declared outside, gets the error of the write", err.Name())
	}
	bad, _ := u.outcome(tail, err, failed, nil)
	fine, _ := u.outcome(tail, err, isNil, nil)
	switch {
	case bad == nil || fine == nil || len(bad.Results) != 1 || len(fine.Results) != 1:
		return unusual
	case u.object(bad.Results[0]) != err && u.wraps(bad, err):
		return errors.New("a conflict is returned with more words, which a comparison with == tells from TxFailedErr")
	case u.object(bad.Results[0]) != err || !u.isNil(fine.Results[0]) && u.object(fine.Results[0]) != err:
		return unusual
	}
	return nil
}

// written reads the command that writes.
func (u *update) written() error {
	c := &u.commit
	_, _, c.method = method(c.one)
	least, most := 2, 2
	switch c.method {
	case "Set":
		least, most = 4, 4
	case "Del":
	case "HDel":
		least, most = 3, 99
	case "HSet":
		least, most = 4, 98
		if len(c.one.Args)%2 != 0 {
			return errors.New("HSet is not given names and values")
		}
	default:
		return fmt.Errorf("%s is neither Set, Del, HSet nor HDel", c.method)
	}
	if n := len(c.one.Args); n < least || n > most {
		return fmt.Errorf("%s has %d arguments", c.method, n)
	}
	c.key, c.args = c.one.Args[1], c.one.Args[2:]
	return nil
}

// stored returns the statements that return the committed value.
func (u *update) stored() (string, error) {
	c := &u.commit
	switch c.method {
	case "Del":
		return fmt.Sprintf("return %s.Value{}, nil", u.rmw), nil
	case "Set":
		return u.storedText(c.args[0], c.args[1])
	}
	value, names := u.cur, []string(nil)
	for i, arg := range c.args {
		if c.method == "HSet" && i%2 == 1 {
			stored, err := u.encode(arg)
			if err != nil {
				return "", err
			}
			value += fmt.Sprintf(".With(%s, %s)", names[len(names)-1], stored)
			continue
		}
		if !isString(u.info.TypeOf(arg)) {
			return "", errors.New("a field is not named by a string")
		}
		names = append(names, u.of(arg))
	}
	if c.method == "HDel" {
		value += fmt.Sprintf(".Without(%s)", strings.Join(names, ", "))
	}
	return fmt.Sprintf("return %s, nil", value), nil
}

// storedText returns the statements that return the value of a Set, with its expiry. The expiry is always given, so that
// the Store writes a value that is there already, as Set does.
func (u *update) storedText(value, ttl ast.Expr) (string, error) {
	text, err := u.encode(value)
	if err != nil {
		return "", err
	}
	stored := fmt.Sprintf("%s.String(%s)", u.rmw, text)
	if v := u.info.Types[ttl].Value; v != nil {
		switch ns, ok := constant.Int64Val(constant.ToInt(v)); {
		case !ok:
			return "", fmt.Errorf("the expiry %s is no whole number", u.of(ttl))
		case ns == 0:
			return fmt.Sprintf("return %s.WithTTL(%s.NoTTL), nil", stored, u.rmw), nil
		case ns == -1: // redis.KeepTTL
			return fmt.Sprintf("return %s, nil", stored), nil
		case ns < int64(time.Millisecond):
			return "", fmt.Errorf("the expiry %s is less than a millisecond", u.of(ttl))
		}
		return fmt.Sprintf("return %s.WithTTL(%s), nil", stored, u.of(ttl)), nil
	}
	// A Store takes 0 and KeepTTL in another sense.
	redis, err := u.name(u.redis.Path(), ttl.Pos())
	if err != nil {
		return "", err
	}
	pkg, err := u.name("time", ttl.Pos())
	if err != nil {
		return "", err
	}
	next, expiry := u.fresh("next"), u.fresh("expiry")
	return fmt.Sprintf("%[1]s := %[2]s\n"+
		"switch %[3]s := %[4]s; {\n"+
		"case %[3]s > 0:\n%[1]s = %[1]s.WithTTL(max(%[3]s, %[5]s.Millisecond))\n"+
		"case %[3]s != %[6]s.KeepTTL:\n%[1]s = %[1]s.WithTTL(%[7]s.NoTTL)\n"+
		"}\nreturn %[1]s, nil", next, stored, expiry, u.of(ttl), pkg, redis, u.rmw), nil
}

// encode returns an expression for the bytes that go-redis sends for a value. The exact type decides: go-redis refuses a
// named string, and an untyped constant has its default type.
func (u *update) encode(e ast.Expr) (string, error) {
	t, text := types.Default(types.Unalias(u.info.TypeOf(e))), u.of(e)
	if slice, ok := t.(*types.Slice); ok && types.Identical(slice.Elem(), types.Typ[types.Byte]) {
		return "string(" + text + ")", nil
	}
	basic, ok := t.(*types.Basic)
	if !ok {
		return "", fmt.Errorf("the bytes of %s, a %s, are decided when it runs", text, t)
	}
	if basic.Info()&types.IsString != 0 {
		return text, nil
	}
	var format, arg string
	switch info := basic.Info(); {
	case basic.Kind() == types.Int:
		format, arg = "%s.Itoa(%s)", "int"
	case info&types.IsUnsigned != 0:
		format, arg = "%s.FormatUint(%s, 10)", "uint64"
	case info&types.IsInteger != 0:
		format, arg = "%s.FormatInt(%s, 10)", "int64"
	case info&types.IsFloat != 0:
		format, arg = "%s.FormatFloat(%s, 'f', -1, 64)", "float64"
	default:
		return "", fmt.Errorf("the bytes of %s, a %s, are not known to this tool", text, t)
	}
	if basic.Name() != arg {
		text = arg + "(" + text + ")"
	}
	pkg, err := u.name("strconv", e.Pos())
	return fmt.Sprintf(format, pkg, text), err
}
