package rewrite

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"time"
)

func isString(t types.Type) bool {
	basic, ok := types.Unalias(t).(*types.Basic)
	return ok && basic.Info()&types.IsString != 0
}

func isBytes(t types.Type) bool {
	slice, ok := types.Unalias(t).(*types.Slice)
	if !ok {
		return false
	}
	basic, ok := types.Unalias(slice.Elem()).(*types.Basic)
	return ok && basic.Kind() == types.Uint8
}

// encode returns a text of the bytes that go-redis would send for a value. It goes by the exact
// type: a named string is no string to go-redis, which refuses it.
func (u *update) encode(e ast.Expr) (string, error) {
	t := types.Default(types.Unalias(u.info.TypeOf(e)))
	if v := u.info.Types[e]; v.Value != nil {
		// An untyped constant is converted to any, which makes its default type of it.
		t = types.Default(types.Unalias(v.Type))
	}
	text := u.of(e)
	if isBytes(t) {
		return "string(" + text + ")", nil
	}
	basic, ok := t.(*types.Basic)
	if !ok {
		return "", fmt.Errorf("which bytes are stored of %s, a %s, is decided when it runs", text, t)
	}
	if basic.Info()&types.IsString != 0 {
		return text, nil
	}
	if basic.Kind() == types.Bool || basic.Info()&(types.IsInteger|types.IsFloat) == 0 {
		return "", fmt.Errorf("which bytes are stored of %s, a %s, is not told by this tool", text, t)
	}
	pkg, err := u.name("strconv", e.Pos())
	if err != nil {
		return "", err
	}
	arg := text
	typed := func(name string) {
		if basic.Name() != name {
			arg = name + "(" + text + ")"
		}
	}
	switch {
	case basic.Kind() == types.Int:
		return fmt.Sprintf("%s.Itoa(%s)", pkg, arg), nil
	case basic.Info()&types.IsUnsigned != 0:
		typed("uint64")
		return fmt.Sprintf("%s.FormatUint(%s, 10)", pkg, arg), nil
	case basic.Info()&types.IsInteger != 0:
		typed("int64")
		return fmt.Sprintf("%s.FormatInt(%s, 10)", pkg, arg), nil
	}
	typed("float64")
	return fmt.Sprintf("%s.FormatFloat(%s, 'f', -1, 64)", pkg, arg), nil
}

// writeSet returns the statements that return what Set stores, with its expiry. Set writes also
// what is there already, and with it the expiry; of a Store only a value with an expiry of its
// own does.
func (u *update) writeSet() (string, error) {
	c := &u.commit
	value, ttl := c.args[0], c.args[1]
	var stored string
	if isBytes(u.info.TypeOf(value)) {
		stored = fmt.Sprintf("%s.Bytes(%s)", u.rmw, u.of(value))
	} else {
		text, err := u.encode(value)
		if err != nil {
			return "", err
		}
		stored = fmt.Sprintf("%s.String(%s)", u.rmw, text)
	}
	if v := u.info.Types[ttl].Value; v != nil {
		ns, ok := constant.Int64Val(constant.ToInt(v))
		switch {
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
	// 0 and KeepTTL mean other things to a Store.
	redis, err := u.name(u.redis.Path(), ttl.Pos())
	if err != nil {
		return "", err
	}
	pkg, err := u.name("time", ttl.Pos())
	if err != nil {
		return "", err
	}
	next, expiry := u.fresh("next", "after"), u.fresh("expiry", "life")
	return fmt.Sprintf("%[1]s := %[2]s\n"+
		"switch %[3]s := %[4]s; {\n"+
		"case %[3]s > 0:\n%[1]s = %[1]s.WithTTL(max(%[3]s, %[5]s.Millisecond))\n"+
		"case %[3]s != %[6]s.KeepTTL:\n%[1]s = %[1]s.WithTTL(%[7]s.NoTTL)\n"+
		"}\nreturn %[1]s, nil", next, stored, expiry, u.of(ttl), pkg, redis, u.rmw), nil
}
