package lexical

import (
	"regexp"
	"slices"
	"strings"
)

// effect describes a method that is not named after its command.
type effect struct {
	sends  string // commands, separated by blanks
	to     role   // the role of the result
	yields role   // the role of the value that a callback, or a block, receives
	do     func(*call) value
}

// effectOf finds the effect of a method on a role.
func (s *scanner) effectOf(r role, name string) (effect, bool) {
	switch r {
	case plain:
		if e, ok := s.effects[plain][name]; ok {
			return e, ok
		}
		r = client
	case pubsub:
		r = client
	}
	e, ok := s.effects[r][name]
	return e, ok
}

// effects are the methods of each role, by their folded names.
var effects = map[role]map[string]effect{
	client: keyed(map[string]effect{
		"GETRESOURCE RESOURCE BORROWOBJECT CONNECT CONNECTASYNC CREATECLIENT CREATECONNECTION FROMURL FROMPOOL DUPLICATE SYNC ASYNC REACTIVE " +
			"COROUTINES CONNECTPUBSUB CONNECTPUBSUBASYNC GETSUBSCRIBER SUBSCRIBER GETSERVER GETSERVERS GETDATABASEASYNC MASTERFOR SLAVEFOR " +
			"GETCONNECTION GETCONNECTIONFACTORY GETREQUIREDCONNECTIONFACTORY GETREACTIVECONNECTION GETCLUSTERCONNECTION CURRENT DUP " +
			"CONNECTION GETSTATEFULCONNECTION V4 LEGACY WITHTYPEMAPPING WITHCOMMANDOPTIONS ASAP PROMISES PROMISIFYALL MULTIPLEXER GETCLIENTASYNC " +
			"GETREADONLYCLIENT INSTANCE GETINSTANCE GETJEDIS GETREDIS REDISPOOL KEYCOMMANDS STRINGCOMMANDS SERVERCOMMANDS " +
			"SCRIPTINGCOMMANDS PUBSUBCOMMANDS STREAMCOMMANDS GETDELEGATE COMMANDS RXJAVA ON ONCE OFF ADDLISTENER B DATABASE DRIVER " +
			"WITHCONTEXT WITHTIMEOUT DEDICATE GETVALUE VALUE CREATESUBSCRIPTION CREATESUBSCRIPTIONASYNC PUBSUBCLIENT NEW TOCOMPLETABLEFUTURE " +
			"STARTSUBSCRIBE AENTER ENTER": {to: client},
		"CREATEREDIS CREATEREDISPOOL CREATEPOOL": {to: plain},
		"GET GETCONTEXT":                         {do: get},
		"GETCLIENT CLIENT":                       {do: clientCommand},
		"PUBSUB":                                 {to: pubsub},
		"WITH USE LET ALSO APPLY RUN THEN SYNCHRONIZE EXECUTEISOLATED REDIS DEDICATED": {to: client, yields: client},
		"PIPELINE": {do: pipeline, yields: pipe},
		"PIPELINED EXECUTEPIPELINED BATCH CREATEBATCH STARTPIPE CREATEPIPELINE":                      {do: piped, yields: pipe},
		"MULTI MULTIASYNC MULTIEXEC CREATETRANSACTION CREATETRANSACTIONASYNC TXPIPELINE TXPIPELINED": {do: begin, yields: tx},
		"TRANSACTION":      {do: transaction, yields: tx},
		"EXEC DISCARD":     {do: finish},
		"WATCH WATCHASYNC": {sends: "WATCH", yields: client, to: other},
		"CONVERTANDSEND PUBLISHMESSAGE PUBLISHMESSAGEASYNC":                                                            {sends: "PUBLISH"},
		"LISTENTOCHANNEL LISTENTO SUBSCRIBELIST SUBSCRIBETOCHANNELS SUBSCRIBETOCHANNELSASYNC PUBSUBLOOP PUBSUBCONTEXT": {do: subscribe("SUBSCRIBE")},
		"LISTENTOPATTERN SUBSCRIBETOCHANNELSMATCHING":                                                                  {do: subscribe("PSUBSCRIBE")},
		"SUBSCRIBE SUBSCRIBEASYNC SUBSCRIBEWITHTIMEOUT":                                                                {do: subscribe("SUBSCRIBE")},
		"PSUBSCRIBE PSUBSCRIBEASYNC PSUBSCRIBEWITHTIMEOUT":                                                             {do: subscribe("PSUBSCRIBE")},
		"SSUBSCRIBE": {do: subscribe("SSUBSCRIBE")},
		"SENDCOMMAND SENDBLOCKINGCOMMAND EXECUTECOMMAND RAWCOMMAND EXECUTERAW CALL CALLV CALLONCE CALLBUFFER BLOCKINGCALL BLOCKINGCALLV " +
			"SENDCOMMANDASYNC INTERNALSENDCOMMAND DISPATCH CUSTOM EXECUTETYPED EXECUTEPUBSUB COMMAND ARBITRARY CMD FLATCMD DO DOCONTEXT " +
			"SEND SENDCONTEXT": {do: byName},
		"EXECUTE EXECUTEASYNC":                        {do: execute, yields: client},
		"XREAD XREADGROUP XREADASMAP XREADGROUPASMAP": {do: stream},
		"EVAL EVALBUFFER":                             {do: eval},
		"DEFINECOMMAND":                               {do: defineCommand},
		"SELECT":                                      {do: selectDB},
		"GETDATABASE":                                 {do: selectDB},
		"SETENABLETRANSACTIONSUPPORT":                 {do: transactionSupport},
		"TIME SAVE":                                   {do: noArguments},
		"REGISTERSCRIPT":                              {sends: "EVALSHA"},
		"OPSFORLIST BOUNDLISTOPS":                     {to: lists},
		"OPSFORVALUE":                                 {to: values},
		"OPSFORSTREAM":                                {to: streams},
		"RENAMEIFABSENT":                              {sends: "RENAMENX"},
		"KEYRENAME KEYRENAMEASYNC":                    {do: rename},
		"LOCKRELEASE LOCKRELEASEASYNC LOCKEXTEND LOCKEXTENDASYNC":                            {sends: "MULTI EXEC"},
		"GETTOPIC GETPATTERNTOPIC GETSHARDEDTOPIC GETRELIABLETOPIC":                          {to: topic},
		"GETBLOCKINGQUEUE GETBLOCKINGDEQUE GETBOUNDEDBLOCKINGQUEUE GETPRIORITYBLOCKINGQUEUE": {to: blocking},
		"GETKEYS": {do: keysOf},
		"WAIT":    {do: wait},
		"LOCK SHUTDOWN CLUSTER INFO EXISTS SETRESPONSECALLBACK SCRIPTLOADED CONNECTED DEBUG ACL GETLOCK NODES": {to: other},
		"KEYS SCAN":                            {do: keys},
		"CONFIG CONFIGSET SETCONFIG CONFIGGET": {do: config},
		"AS":                                   {to: client},
	}),
	plain: keyed(map[string]effect{"PIPELINE": {to: pipe, yields: pipe}}),
	tx: keyed(map[string]effect{
		"EXEC EXECUTE EXECBUFFER EXECASYNC EXECUTEASYNC EXECTYPED EXECGETRESPONSE COMMIT COMMITASYNC DISCARD ROLLBACK ROLLBACKASYNC": {do: finishTx},
		"MULTI":        {do: beginAgain, yields: tx},
		"ADDCONDITION": {sends: "WATCH"},
		"EXECUTECOMMAND SENDCOMMAND CALL ADDCOMMAND RAWCOMMAND EXECUTERAW": {do: byName},
		"EVAL MOVE EXECASPIPELINE RESET PIPELINED CLOSE CLEAR":             {to: tx, yields: tx},
	}),
	pipe: keyed(map[string]effect{
		"EXEC EXECUTE DISCARD EXECBUFFER EXECUTEASYNC": {do: finishTx},
		"MULTI": {do: begin, yields: tx},
		"WATCH": {sends: "WATCH", to: pipe},
		"EXECUTECOMMAND SENDCOMMAND CALL RAWCOMMAND EXECUTERAW DO": {do: byName},
		"EVAL MOVE PIPELINED PIPELINE":                             {to: pipe, yields: pipe},
		"TXPIPELINE TXPIPELINED":                                   {to: pipe},
	}),
	container: keyed(map[string]effect{"ADDMESSAGELISTENER RECEIVE RECEIVELATER SETMESSAGELISTENERS": {do: subscribe("SUBSCRIBE")}}),
	topic: keyed(map[string]effect{
		"PUBLISH PUBLISHASYNC": {sends: "PUBLISH"},
		"ADDLISTENER ADDLISTENERASYNC ADDLISTENERFIRST GETMESSAGES": {sends: "SUBSCRIBE"},
		"REMOVELISTENER REMOVEALLLISTENERS REMOVELISTENERASYNC":     {sends: "UNSUBSCRIBE"},
	}),
	blocking: keyed(map[string]effect{
		"TAKE TAKEASYNC TAKEFIRST POLLFROMANY": {sends: "BLPOP"},
		"TAKELAST":                             {sends: "BRPOP"},
		"POLL POLLASYNC":                       {do: atLeast(1, "BLPOP")},
		"TAKELASTANDOFFERFIRSTTO POLLLASTANDOFFERFIRSTTO": {sends: "BRPOPLPUSH"},
	}),
	keyspace: keyed(map[string]effect{
		"GETKEYS GETKEYSBYPATTERN GETKEYSSTREAM GETKEYSSTREAMBYPATTERN GETKEYSWITHLIMIT FINDKEYSBYPATTERN DELETEBYPATTERN UNLINKBYPATTERN " +
			"ITERATOR": {sends: "SCAN"},
		"RANDOMKEY": {sends: "RANDOMKEY"}, "FLUSHDB": {sends: "FLUSHDB"}, "FLUSHALL": {sends: "FLUSHALL"}, "COUNT": {sends: "DBSIZE"},
		"RENAME": {sends: "RENAME"}, "RENAMENX": {sends: "RENAMENX"}, "MOVE": {sends: "MOVE"},
	}),
	lists: keyed(map[string]effect{
		"LEFTPOP": {do: atLeast(2, "BLPOP")}, "RIGHTPOP": {do: atLeast(2, "BRPOP")},
		"RIGHTPOPANDLEFTPUSH": {do: atLeast(3, "BRPOPLPUSH")}, "MOVE": {do: atLeast(5, "BLMOVE")},
	}),
	values:  keyed(map[string]effect{"MULTISETIFABSENT": {sends: "MSETNX"}}),
	streams: keyed(map[string]effect{"READ RECEIVE RECEIVEAUTOACK REGISTER": {do: stream}}),
}

// call is a call of a method.
type call struct {
	*scanner
	recv  value
	name  string // folded
	pos   int    // the token of its name
	open  int    // the bracket of its arguments, -1 if there is none
	block int    // the block that is handed to it, 0 if there is none
	args  [][2]int
}

// arguments finds where each argument is. Those of Ruby may have no brackets.
func (c *call) arguments() {
	from, to := c.open+1, 0
	switch {
	case c.open >= 0:
		to = min(c.at(c.open).match, len(c.all))
	case c.lang.id == Ruby && c.block == 0 && c.at(c.pos+1).space && !c.at(c.pos+1).nl:
		tok := c.at(c.pos + 1)
		if tok.kind != text && tok.kind != num && (tok.kind != word || notNames[tok.text]) && tok.text != "[" && tok.text != ":" &&
			!(tok.kind == sign && (tok.text == "*" || tok.text == "&") && !c.at(c.pos+2).space) {
			return
		}
		from = c.pos + 1
		for to = from; to < len(c.all) && to < from+maxLook && !c.at(to).nl && c.at(to).kind != clos; to++ {
			if c.is(to, "do") || c.is(to, "if") || c.is(to, "unless") {
				break
			}
			if c.at(to).kind == open && c.at(to).match < len(c.all) {
				if c.is(to, "{") {
					c.block = to
				}
				to = c.at(to).match
			}
		}
		if c.is(to, "do") {
			c.block = to
		}
	default:
		return
	}
	start := from
	for i := from; i < to && len(c.args) < 8; i++ {
		tok := c.at(i)
		if tok.kind == open {
			i = tok.match
		}
		if tok.text == "," && tok.kind == sign {
			c.args = append(c.args, [2]int{start, i})
			start = i + 1
		}
	}
	if start < to {
		c.args = append(c.args, [2]int{start, to})
	}
}

// judge reports the commands of a call, and returns its result.
func (c *call) judge() value {
	v := c.recv
	method := bare(c.at(c.pos).text)
	if v.self {
		for _, b := range c.names[method] { // a method of the class itself
			if b.fn {
				if w := c.bound(b, method); w.redis() || w.role == other {
					return w
				}
				return c.returnsByName(method)
			}
		}
		if w := c.field(method, c.pos); w.redis() {
			return w
		}
		if class := c.classAround(c.in[c.pos]); class > 0 {
			v = c.base(&c.blocks[class])
		}
		if !v.redis() {
			return c.returnsByName(method)
		}
	}
	if v.role == other {
		return c.returnsByName(method)
	}
	if !v.redis() {
		if v = c.stranger(); !v.redis() || v.role == tx {
			return c.returnsByName(method)
		}
	}
	c.recv = v
	named := value{role: v.role, lib: v.lib, sure: v.sure, name: method}
	if (v.class || c.name == "SENTINEL" || c.name == "REDISCLUSTER") && c.made(named, c.pos) {
		return c.instance(value{role: v.role, lib: v.lib, sure: v.sure, class: true})
	}
	e, known := c.effectOf(v.role, c.name)
	if known && e.yields != unknown {
		y := value{role: e.yields, lib: v.lib, sure: v.sure}
		if v.role == plain && y.role == client {
			y.role = plain
		}
		c.yield(y)
	}
	switch {
	case known && e.do != nil:
		w := e.do(c)
		if w.origin > 0 {
			y := c.yields[c.open]
			if y.role == tx || y.role == pipe {
				y.origin = w.origin
				c.yield(y)
			}
		}
		return w
	case known:
		if e.sends != "" {
			c.sent(false, strings.Fields(e.sends)...)
		}
		if e.to == unknown {
			return value{role: other}
		}
		if e.to == client && v.role == plain {
			e.to = plain
		}
		return value{role: e.to, lib: v.lib, sure: v.sure, origin: v.origin}
	case v.role != client && v.role != plain && v.role != pipe && v.role != tx && v.role != pubsub:
		return value{role: other}
	}
	if command, ok := commandOf(method); ok && c.plausible(command) {
		c.command(command)
	} else if v.class {
		if r, ok := classRole(c.lang.id, method); ok {
			v.role = r
		}
		return c.instance(value{role: v.role, lib: v.lib, sure: v.sure, class: true})
	}
	if v.role == pipe || v.role == tx {
		return v
	}
	if saysRedis(method) || strings.HasPrefix(c.name, "GETCLIENT") {
		return value{role: v.role, lib: v.lib, sure: v.sure}
	}
	return value{role: other}
}

// yield sets the value that a callback of the call receives.
func (c *call) yield(y value) {
	if c.open >= 0 {
		c.yields[c.open] = y
	}
	if c.block > 0 {
		c.yields[c.block] = y
	}
}

// returnsByName is the result of a method whose name says Redis: getRedis.
func (c *call) returnsByName(method string) value {
	if len(c.args) > 0 && c.at(c.args[0][0]).kind == text && finds[c.name] && saysRedis(c.at(c.args[0][0]).text) {
		method = c.at(c.args[0][0]).text
	}
	if saysRedis(method) {
		v := c.named(method)
		c.yield(v)
		return v
	}
	if c.recv.role == other {
		return value{role: other}
	}
	return value{}
}

// made reports a call that makes a client, if that is a finding in itself.
func (s *scanner) made(v value, at int) bool {
	m, ok := makers[fold(v.name)]
	if !ok || (v.role == queue) != (m.rule == "MC102" || m.rule == "MC302" || m.rule == "MC201") {
		return false
	}
	s.keep(at)
	s.report(at, m.rule, m.what+" through "+s.title(v, v.name), strings.Contains(m.what, " and "))
	return true
}

// stranger takes an unknown receiver for a client, if the method is distinctive, or ambiguous and the
// receiver is named like a connection.
func (c *call) stranger() value {
	v := value{role: client, lib: c.library(), name: c.recv.name}
	given := len(c.args) > 0
	method := c.at(c.pos).text
	switch {
	case c.lang.id == Go, c.recv.called && !connectionName.MatchString(v.name) && !pipeName.MatchString(v.name):
	case distinctive[c.name] && c.name != "XREAD":
		if (c.name == "SENTINEL" || c.name == "REDISCLUSTER") && method[0] >= 'a' {
			break
		}
		if c.name == "MULTI" && c.handed() { // its function is handed to a transaction, which is reported
			return c.of(tx)
		}
		if c.name == "MULTI" && pipeName.MatchString(v.name) {
			v.role = pipe
		}
		return v
	case c.name == "CREATETRANSACTION" && c.lang.id == CSharp:
		if databaseName(v.name) {
			return v
		}
	case c.name == "PIPELINE" && (c.mentions("transaction") || c.lang.id == Python && c.transacts()):
		return v
	case c.name == "WATCH" && given && !c.is(c.args[0][0], "[") && (pipeName.MatchString(v.name) || c.transacts()):
		if pipeName.MatchString(v.name) {
			v.role = pipe
		}
		return v
	case c.rivals && c.name != "WATCH" && c.name != "PIPELINE", c.lang.id == CSharp || c.lang.id == Java || c.lang.id == Kotlin:
	case ambiguous[c.name] && connectionName.MatchString(v.name):
		switch c.name {
		case "EVAL":
			if len(c.args) < 2 || c.at(c.args[1][0]).kind != num {
				return value{}
			}
		case "CLIENT":
			return value{}
		case "TRANSACTION":
			if !given || c.lang.id != Python || c.at(c.args[0][0]).kind != word {
				return value{}
			}
		case "KEYS", "SCAN", "PUBLISH", "SUBSCRIBE", "WATCH":
			if !given {
				return value{}
			}
		}
		return v
	}
	return value{}
}

// handed reports whether the function around a call is passed to .transaction(…).
func (c *call) handed() bool {
	c.survey()
	return c.helpers[c.blocks[c.function(c.pos)].name]
}

// databaseName reports whether a name is that of a database of StackExchange.Redis: a unit of
// work makes transactions, too.
func databaseName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "redis") || strings.HasSuffix(name, "db") || strings.HasSuffix(name, "database") ||
		strings.HasSuffix(name, "cache") || strings.HasPrefix(name, "getdatabase")
}

// transacts reports whether the file has a transaction, so that watch is part of one.
func (s *scanner) transacts() bool {
	s.survey()
	return s.multi
}

// survey looks once for a transaction in the file, and for functions that are passed to one.
func (s *scanner) survey() {
	if s.helpers != nil {
		return
	}
	s.helpers = map[string]bool{}
	for i := range s.all {
		if s.all[i].kind != word || !s.member(i-1) {
			continue
		}
		s.multi = s.multi || strings.EqualFold(s.all[i].text, "multi") || s.is(i, "unwatch")
		if s.is(i, "transaction") && s.is(i+1, "(") {
			s.helpers[s.at(i+2).text], s.helpers[s.at(i+4).text] = true, true
		}
	}
	delete(s.helpers, "")
}

// plausible reports whether a method that is also called so elsewhere can be the command here.
func (c *call) plausible(command string) bool {
	if c.recv.class && c.lang.id != PHP && c.lang.id != Go {
		return distinctive[c.name] || c.lang.id == Ruby
	}
	if c.recv.sure {
		return true
	}
	switch command {
	case "KEYS", "SCAN", "RENAME", "MOVE", "OBJECT", "SCRIPT", "RESTORE", "MIGRATE", "MONITOR", "PUBLISH":
		return len(c.args) > 0
	case "SHUTDOWN", "DEBUG", "LATENCY":
		return false
	}
	return true
}

// through names the method, as a message does.
func (c *call) through() string { return c.title(c.recv, c.at(c.pos).text) }

func (s *scanner) title(v value, method string) string {
	title := "Redis"
	if v.lib != nil {
		title = v.lib.title
		if (v.role == pipe || v.role == tx) && v.lib.pipe != "" {
			title = v.lib.pipe
		}
	}
	if strings.HasSuffix(title, method) {
		return title
	}
	return title + "." + method
}

// in reports whether an argument has one of these words, or texts.
func (c *call) has(arg [2]int, names ...string) bool {
	for i := arg[0]; i < arg[1] && i < arg[0]+maxLook; i++ {
		if tok := c.at(i); tok.kind == word || tok.kind == text {
			for _, name := range names {
				if fold(tok.text) == fold(name) {
					return true
				}
			}
		}
	}
	return false
}

func (c *call) mentions(names ...string) bool {
	return slices.ContainsFunc(c.args, func(a [2]int) bool { return c.has(a, names...) })
}

// number is the number that an argument is.
func (c *call) number(n int) string {
	if n < len(c.args) && c.args[n][1] == c.args[n][0]+1 && c.at(c.args[n][0]).kind == num {
		return c.at(c.args[n][0]).text
	}
	return ""
}

// sent reports commands that the call sends.
func (c *call) sent(named bool, commands ...string) int {
	c.keep(c.pos)
	return c.scanner.sent(c.pos, named, commands, c.through())
}

// tells reports a finding of a rule at the call.
func (c *call) tells(rule, what string) {
	c.keep(c.pos)
	c.report(c.pos, rule, what+" through "+c.through(), false)
}

// keep remembers in which function a finding is.
func (s *scanner) keep(at int) { s.funcs[at] = s.funcName(at) }

// command judges a command that the method is named after.
func (c *call) command(name string) {
	switch name {
	case "XREAD", "XREADGROUP":
		stream(c)
	default:
		c.sent(false, name)
	}
}

func (c *call) of(r role) value { return value{role: r, lib: c.recv.lib, sure: c.recv.sure} }

// begun is a transaction: the token of its finding, and the name of its receiver.
type begun struct {
	at       int
	receiver string
}

// end is EXEC or DISCARD on a client.
type end struct {
	c    *call
	name string
}

// begin reports the beginning of a transaction. In PHP it may be a plain pipeline.
func begin(c *call) value {
	if c.lang.id == PHP && len(c.args) > 0 && (c.mentions("PIPELINE", "Redis::PIPELINE") || c.number(0) == "2") {
		return c.of(pipe)
	}
	if c.recv.origin > 0 && c.relate(c.recv.origin, c.pos, "MULTI") {
		return c.recv
	}
	v := c.of(tx)
	v.origin = c.sent(false, "MULTI", "EXEC")
	c.begun = append(c.begun, begun{c.pos, c.recv.name})
	if c.lang.id == Go {
		v.role = pipe
	}
	return v
}

func beginAgain(c *call) value {
	if c.recv.origin > 0 {
		c.relate(c.recv.origin, c.pos, "MULTI")
		return c.recv
	}
	return begin(c)
}

// finish is EXEC or DISCARD on a client: which transaction it ends is looked for at the end.
func finish(c *call) value {
	c.ends = append(c.ends, end{c, c.name})
	return value{role: other}
}

// finishTx is the end of a transaction, or of a plain pipeline.
func finishTx(c *call) value {
	name := "EXEC"
	if c.name == "DISCARD" || strings.HasPrefix(c.name, "ROLLBACK") {
		name = "DISCARD"
	}
	switch {
	case c.recv.origin > 0:
		c.relate(c.recv.origin, c.pos, name)
	case c.recv.role == tx:
		c.ends = append(c.ends, end{c, name})
	}
	return value{role: other}
}

// finish relates each EXEC to the transaction before it, or reports it.
func (s *scanner) finish() {
	slices.SortFunc(s.begun, func(a, b begun) int { return a.at - b.at })
	slices.SortFunc(s.ends, func(a, b end) int { return a.c.pos - b.c.pos })
	last, byName, n := 0, map[string]int{}, 0
	for _, e := range s.ends {
		for ; n < len(s.begun) && s.begun[n].at < e.c.pos; n++ {
			last = s.begun[n].at + 1
			byName[s.begun[n].receiver] = last
		}
		origin := byName[e.c.recv.name]
		if origin == 0 {
			origin = last
		}
		switch {
		case origin > 0 && s.relate(origin, e.c.pos, e.name):
		case e.c.recv.role == tx: // it came from elsewhere, where it was begun
		case e.c.recv.sure || len(s.begun) > 0:
			e.c.sent(false, e.name)
		}
	}
}

// pipeline is a transaction by default in Python, and elsewhere if its options say so.
func pipeline(c *call) value {
	atomic := c.lang.id == Python
	for n, a := range c.args {
		from := a[0]
		named := c.is(from, "transaction") && c.is(from+1, "=")
		if named {
			from += 2
		} else if n > 0 || c.lang.id != Python {
			if c.lang.id == PHP && c.has(a, "atomic") && c.has(a, "true") {
				atomic = true
			}
			continue
		}
		if v := c.scanner.value(from); v.konst && (named || v.text == "False" || v.text == "0") {
			atomic = v.text != "False" && v.text != "0" && v.text != "None"
		}
	}
	if !atomic {
		return c.of(pipe)
	}
	v := c.of(tx)
	if c.lang.id == Python {
		v.role = pipe
	}
	v.origin = c.sent(false, "MULTI", "EXEC")
	return v
}

// piped is a pipeline; a batch of Redisson is a transaction if its options say so.
func piped(c *call) value {
	if c.mentions("REDIS_WRITE_ATOMIC", "REDIS_READ_ATOMIC", "IN_MEMORY_ATOMIC") {
		c.sent(false, "MULTI", "EXEC")
	}
	return c.of(pipe)
}

// transaction takes a function that runs within one, and keys, or options, to watch.
func transaction(c *call) value {
	v := begin(c)
	if c.lang.id == Python && len(c.args) > 1 && !c.is(c.args[1][0]+1, "=") || c.lang.id == PHP && c.watches() {
		c.sent(false, "WATCH")
	}
	return v
}

// watches reports whether the options of Predis have keys to watch.
func (c *call) watches() bool {
	for _, a := range c.args {
		for i := a[0]; i < a[1] && i < a[0]+maxLook && !c.is(i, "{"); i++ {
			if c.at(i).kind == text && c.at(i).text == "watch" {
				return true
			}
		}
	}
	return false
}

// subscribe is a subscription, in which a pattern of the notifications may be.
func subscribe(command string) func(*call) value {
	return func(c *call) value {
		c.sent(false, command)
		c.notifications()
		return c.of(pubsub)
	}
}

var notification = regexp.MustCompile("__key(event|space)@|^notify-keyspace-events$")

// notifications reports a pattern, or a setting, of keyspace notifications.
func (c *call) notifications() {
	for _, a := range c.args {
		for i := a[0]; i < a[1] && i < a[0]+maxLook; i++ {
			tok := c.at(i)
			if tok.kind == text && notification.MatchString(tok.text) {
				c.keep(i)
				c.report(i, "MC203", "keyspace notifications through "+c.through(), true)
				return
			}
		}
	}
}

func config(c *call) value {
	c.sent(false, "CONFIG")
	c.notifications()
	return value{role: other}
}

// get takes a client out of a pool if it has no key.
func get(c *call) value {
	if c.lang.id == Go && len(c.args) == 0 || c.name == "GETCONTEXT" {
		return c.recv
	}
	return value{role: other}
}

// clientCommand is CLIENT if it has a subcommand, and else a way to get at the client.
func clientCommand(c *call) value {
	if c.name == "CLIENT" && len(c.args) > 0 {
		if c.recv.sure || c.at(c.args[0][0]).kind == text {
			c.sent(false, "CLIENT")
		}
		return value{role: other}
	}
	v := c.recv
	v.class = false
	return v
}

func keys(c *call) value {
	if c.open < 0 && c.lang.id == Kotlin {
		return c.of(keyspace)
	}
	if c.plausible(c.name) {
		c.sent(false, c.name)
	}
	return value{role: other}
}

func keysOf(c *call) value {
	if c.lang.id == PHP {
		c.sent(false, "KEYS")
		return value{role: other}
	}
	return c.of(keyspace)
}

func noArguments(c *call) value {
	if len(c.args) == 0 && c.recv.sure && c.lang.id != Java {
		c.sent(false, c.name)
	}
	return value{role: other}
}

// wait is WAIT, and no wait of an object of Java.
func wait(c *call) value {
	if c.lang.id != Java && c.lang.id != Kotlin && c.lang.id != CSharp {
		c.sent(false, "WAIT")
	}
	return value{role: other}
}

func rename(c *call) value {
	if c.mentions("NotExists") {
		c.sent(false, "RENAMENX")
	} else {
		c.sent(false, "RENAME")
	}
	return value{role: other}
}

// atLeast is a command that is sent if there are more arguments than this.
func atLeast(n int, command string) func(*call) value {
	return func(c *call) value {
		if len(c.args) > n || len(c.args) == n && c.has(c.args[n-1], "Duration", "TimeUnit") {
			c.sent(false, command)
		}
		return value{role: other}
	}
}

// stream judges XREAD and XREADGROUP: with BLOCK they hold up others. That of go-redis blocks
// unless it is told not to.
func stream(c *call) value {
	name := "XREAD"
	if strings.HasPrefix(c.name, "XREADGROUP") || c.mentions("Consumer") {
		name = "XREADGROUP"
	}
	c.streams(name, false)
	return value{role: other}
}

func (c *call) streams(name string, named bool) {
	if c.mentions("block", "blockms", "withblock") || c.recv.role == streams && c.name != "READ" || c.lang.id == Go && !named ||
		c.lang.id == PHP && name == "XREAD" && len(c.args) > 3 {
		c.tells("MC302", name+" with BLOCK")
		return
	}
	c.sent(named, name)
}

func transactionSupport(c *call) value {
	if c.mentions("true") {
		c.sent(false, "MULTI", "EXEC")
	}
	return value{role: other}
}

func selectDB(c *call) value {
	for n := range c.args {
		if n > 0 && !c.has(c.args[n], "db") {
			break
		}
		if db := c.number(n); db != "" && db != "0" {
			c.tells("MC603", "a database other than 0")
		}
	}
	v := c.recv
	v.class = false
	return v
}

// eval judges a script by the number of its keys.
func eval(c *call) value {
	for _, n := range []int{1, 2} {
		if number := c.number(n); number != "" {
			c.scriptKeys(number)
			break
		}
	}
	if c.recv.role == pipe || c.recv.role == tx {
		return c.recv
	}
	return value{role: other}
}

func (c *call) scriptKeys(n string) {
	switch {
	case n == "0":
		c.tells("MC502", "a script without keys")
	case n != "1" && n[0] >= '1' && n[0] <= '9':
		c.tells("MC501", "a script with "+n+" keys")
	}
}

func defineCommand(c *call) value {
	for _, a := range c.args {
		for i := a[0]; i < a[1] && i < a[0]+maxLook; i++ {
			if c.is(i, "numberOfKeys") && c.is(i+1, ":") && c.at(i+2).kind == num {
				c.scriptKeys(c.at(i + 2).text)
			}
		}
	}
	return value{role: other}
}

// execute runs a callback on a connection, or a command by its name.
func execute(c *call) value {
	if c.lang.id == Java || c.lang.id == Kotlin {
		return value{role: other}
	}
	if c.lang.id == CSharp || len(c.args) > 0 && c.at(c.args[0][0]).kind == text {
		return byName(c)
	}
	return value{role: other}
}

// byName judges a command that an argument names.
func byName(c *call) value {
	result := value{role: other}
	if c.recv.role == pipe || c.recv.role == tx {
		result = c.recv
	}
	if c.name == "SEND" && c.lang.id != Go || c.name == "DO" && c.lang.id != Go || c.name == "COMMAND" && c.lang.id != PHP {
		return result
	}
	last := min(1, len(c.args))
	if c.lang.id == Go { // behind a context
		last = min(2, len(c.args))
	}
	for _, a := range c.args[:last] {
		if name, ok := c.nameOf(a); ok {
			c.byText(name)
			return result
		}
	}
	if last == 0 || !c.recv.sure {
		return result
	}
	if a := c.args[last-1]; c.dynamic(a) {
		c.keep(c.pos)
		c.tell(c.pos, "MC902", "a command whose name is not to be seen, through "+c.through())
	}
	return result
}

func (c *call) byText(name string) {
	fields := strings.Fields(strings.ToUpper(name))
	if len(fields) == 0 {
		return
	}
	switch command := fields[0]; command {
	case "XREAD", "XREADGROUP":
		c.streams(command, true)
	default:
		if ruled[command] != "" {
			c.sent(true, command)
			c.notifications()
		}
	}
}

// nameOf is the command that an argument names: a text, a constant, the first of a list, or the
// member of an enumeration.
func (c *call) nameOf(a [2]int) (string, bool) {
	i := a[0]
	for n := 0; n < 3 && (c.is(i, "[") || c.is(i, "array") || c.is(i, "(") || c.is(i, "&") || c.is(i, "CommandType")); n++ {
		i++
	}
	switch tok := c.at(i); {
	case i >= a[1]:
	case tok.kind == text:
		return tok.text, !tok.holed
	case tok.kind == word && (c.is(i+1, ".") || c.is(i+1, "::")):
		last := i
		for (c.is(last+1, ".") || c.is(last+1, "::")) && c.at(last+2).kind == word && last+2 < a[1] {
			last += 2
		}
		name := c.at(last).text
		return name, strings.ToUpper(name) == name && len(name) > 2 && last+1 == a[1]
	case tok.kind == word:
		if v := c.lookup(tok.text, i); v.konst && v.text != "" && v.role == other {
			return v.text, true
		}
	}
	return "", false
}

// dynamic reports whether an argument may be the name of any command.
func (c *call) dynamic(a [2]int) bool {
	for i := a[0]; i < a[1] && i < a[0]+4; i++ {
		tok := c.at(i)
		if tok.kind == word && tok.text != "array" && tok.text != "new" {
			last := i+1 == a[1] || c.is(i+1, "]") || c.is(i+1, ",") || c.is(i+1, ")")
			return last && strings.ToUpper(tok.text) != tok.text && tok.text != "ctx"
		}
		if tok.kind == text {
			return tok.holed
		}
		if tok.text == "new" {
			return false
		}
	}
	return false
}

// text looks into a string: a script for the server, or the name of a command in a list that
// is sent later.
func (s *scanner) text(i int) {
	tok := s.all[i]
	if strings.Contains(tok.text, "redis.call") || strings.Contains(tok.text, "redis.pcall") {
		s.script(i)
		return
	}
	command := strings.ToUpper(tok.text)
	if !slices.Contains(transactions, command) && command != "PSUBSCRIBE" || tok.holed {
		return
	}
	up := s.up[i]
	if up < 0 || up != i-1 || !(s.is(i+1, ",") || s.is(i+1, "]") || s.is(i+1, ")")) || s.callParen(up) && !s.is(up-1, "array") {
		return
	}
	if s.is(up-1, "array") {
		up--
	}
	before := s.at(up - 1)
	if before.text == "[" || before.text == "," && s.up[up] >= 0 && s.is(s.up[up], "[") ||
		before.text == "(" && queues[fold(s.at(up-2).text)] {
		s.keep(i)
		s.sent(i, true, []string{command}, "a list of commands")
	}
}

// queues are methods that put something into a list.
var queues = words("PUSH APPEND ADD UNSHIFT")
