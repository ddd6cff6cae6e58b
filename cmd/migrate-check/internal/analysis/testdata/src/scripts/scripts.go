// Package scripts has scripts in all clients.
package scripts

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"keynames"
	"scripttexts"
	"strings"

	redigo "github.com/gomodule/redigo/redis"
	radix3 "github.com/mediocregopher/radix/v3"
	"github.com/mediocregopher/radix/v4"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

//go:embed publish.lua
var publishing string

//go:embed more.lua
var more []byte

//go:embed fine.lua
var fine string

const one = `return redis.call("GET", KEYS[1])`

var take = redis.NewScript(one)

var (
	published = redis.NewScript(publishing)       // want `^line 2 of the script: PUBLISH: no client can subscribe through the proxy: .*\(MC504\)$`
	appended  = redigo.NewScript(1, string(more)) // want `line 1 of the script: GET: its key may be put together by the script.*MC503`
	silent    = redis.NewScript(fine)
	two       = redigo.NewScript(2, `return redis.call("DEL", KEYS[1], KEYS[2])`)
	none      = redigo.NewScript(0, `return 1`)
	counting  = redigo.NewScript(-1, `return 2`)
	literal   = rueidis.NewLuaScript("return redis.call('GET', 'greeting')")                          // want `its key is the literal 'greeting'.*MC503`
	argument  = radix.NewEvalScript(`return redis.call("GET", ARGV[1])`)                              // want `its key may be out of ARGV.*MC503`
	all       = radix3.NewEvalScript(1, `return redis.call("KEYS", "*")`)                             // want `KEYS: it sees what one server has.*MC504`
	within    = redis.NewScript(`return redis.call("MULTI")`)                                         // want `MULTI: the server answers: This Redis command is not allowed.*MC504`
	anything  = redis.NewScript(`return redis.call(ARGV[1], KEYS[1])`)                                // want `which command is called cannot be told.*MC504`
	random    = redis.NewScript(`local t = redis.call("TIME") ` + `redis.call("SET", KEYS[1], t[1])`) // want `it writes after TIME.*MC504`
	broken    = redis.NewScript(`return (`)                                                           // want `it is no Lua.*MC504`
	loaded    = redis.NewScriptServerSHA(`return 3`)                                                  // want `SCRIPT LOAD through .*NewScriptServerSHA; the proxy refuses it.*MC505`
	known     = redis.NewScript(scripttexts.Take)
	given     = redis.NewScript(scripttexts.Given) // want `the text of the script, scripttexts.Given, is not known before it runs; it could not be read \(MC504\)`
)

func made(name string) {
	redis.NewScript(fmt.Sprintf(`return redis.call("%s", KEYS[1])`, name)) // want `the text of the script, .*, is not known.*MC504`
	redis.NewScript(`redis.call("PUBLISH", "c", KEYS[1]) return ` + name)  // want `is not known` `PUBLISH: no client can subscribe.*MC504`
}

func several(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, a, b string, keys []string) {
	take.Run(ctx, rdb, []string{a, b})                        // want `^EVAL through \(\*redis\.Script\)\.Run; keys a and b share no hash tag, and the proxy goes by KEYS\[1\] alone \(MC501\)$`
	take.Run(ctx, rdb, keys)                                  // want `how many keys it has is not known here.*MC501`
	rdb.Eval(ctx, one, []string{"a", "b"})                    // want `are in different slots.*MC501`
	two.Do(conn, a, b, "value")                               // want `MC501`
	counting.Do(conn, 2, a, b, "value")                       // want `MC501`
	conn.Do("EVAL", one, 2, a, b)                             // want `MC501`
	rdb.Do(ctx, "eval", one, 2, a, b)                         // want `MC501`
	literal.Exec(ctx, c, []string{a, b}, nil)                 // want `MC501`
	argument.Cmd(nil, []string{a, b})                         // want `MC501`
	_ = c.B().Eval().Script(one).Numkeys(2).Key(a, b).Build() // want `MC501`
}

func without(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client) {
	take.Run(ctx, rdb, nil)                                  // want `without keys; the proxy goes by ARGV\[1\], or by nothing: pass the key as KEYS\[1\] \(MC502\)`
	rdb.Eval(ctx, one, []string{}, "a")                      // want `MC502`
	none.Do(conn, "a")                                       // want `MC502`
	conn.Send("EVAL", one, 0, "a")                           // want `MC502`
	literal.Exec(ctx, c, nil, []string{"a"})                 // want `MC502`
	_ = c.B().Eval().Script(one).Numkeys(0).Arg("a").Build() // want `MC502`
	argument.Cmd(nil, nil, "a")                              // want `MC502`
}

func loading(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, lua *rueidis.Lua, sha string) {
	rdb.ScriptLoad(ctx, one)                   // want `^SCRIPT LOAD through .*ScriptLoad; the proxy refuses it: send EVALSHA, and EVAL when the answer is NOSCRIPT \(MC505\)$`
	rdb.ScriptExists(ctx, sha)                 // want `SCRIPT EXISTS.*MC505`
	rdb.ScriptFlush(ctx)                       // want `SCRIPT FLUSH.*MC505`
	take.Load(ctx, rdb)                        // want `SCRIPT LOAD.*MC505`
	take.Exists(ctx, rdb)                      // want `SCRIPT EXISTS.*MC505`
	two.Load(conn)                             // want `SCRIPT LOAD.*MC505`
	conn.Do("SCRIPT", "LOAD", one)             // want `SCRIPT LOAD.*MC505`
	rdb.EvalSha(ctx, sha, []string{"k"})       // want `EVALSHA through .*; each server has its own scripts.*MC505`
	take.EvalSha(ctx, rdb, []string{"k"})      // want `MC505`
	conn.Do("EVALSHA", sha, 1, "k")            // want `MC505`
	two.SendHash(conn, "{k}a", "{k}b")         // want `MC505`
	lua.ExecMulti(ctx, c, rueidis.LuaExec{})   // want `SCRIPT LOAD.*MC505`
	_ = c.B().ScriptLoad().Script(one).Build() // want `SCRIPT LOAD.*MC505`
	take.RunRO(ctx, rdb, []string{"k"})        // want `EVAL_RO through .*MC404`
}

func right(ctx context.Context, rdb *redis.Client, conn redigo.Conn, c rueidis.Client, id string) error {
	take.Run(ctx, rdb, []string{id}, "a", "b")
	rdb.Eval(ctx, one, []string{keynames.User(id)}, id)
	take.Run(ctx, rdb, []string{keynames.User(id), keynames.Friends(id)})
	both := []string{"{" + id + "}:data", "{" + id + "}:lock"}
	take.Run(ctx, rdb, both)
	two.Do(conn, "{t}a", "{t}b", "value")
	counting.Do(conn, 1, id, "value")
	conn.Do("EVAL", one, 1, id, "a", "b")
	silent.Eval(ctx, rdb, both[:1]) // want `MC501`
	literal.Exec(ctx, c, []string{id}, []string{"a", "b"})
	argument.Cmd(nil, []string{id}, "a", "b")
	all.Cmd(nil, id, "a")
	_ = c.B().Eval().Script(one).Numkeys(1).Key(id).Arg("a", "b").Build()
	take.Hash()
	err := rdb.EvalSha(ctx, take.Hash(), []string{id}).Err()
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT ") {
		err = rdb.Eval(ctx, one, []string{id}).Err()
	}
	return errors.Join(err)
}

type engine struct{}

func (engine) Eval(ctx context.Context, script string, keys []string) error { return nil }
func (engine) EvalSha(ctx context.Context, sha string) error                { return nil }
func (engine) ScriptLoad(ctx context.Context, script string) error          { return nil }

func NewScript(src string) engine { return engine{} }

func other(ctx context.Context, e engine) {
	e.Eval(ctx, `redis.call("PUBLISH", "a", "b")`, nil)
	e.EvalSha(ctx, "sha")
	e.ScriptLoad(ctx, "x")
	NewScript(`redis.call("PUBLISH", "a", "b")`)
}
