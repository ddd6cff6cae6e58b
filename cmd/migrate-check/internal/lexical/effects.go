package lexical

import (
	"regexp"
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
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
	e, ok := s.effects[r][name]
	if !ok && (r == plain || r == pubsub) {
		e, ok = s.effects[client][name]
	}
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
		"CONVERTANDSEND PUBLISHMESSAGE PUBLISHMESSAGEASYNC": {sends: "PUBLISH"},
		"SUBSCRIBE SUBSCRIBEASYNC SUBSCRIBEWITHTIMEOUT LISTENTOCHANNEL LISTENTO SUBSCRIBELIST SUBSCRIBETOCHANNELS " +
			"SUBSCRIBETOCHANNELSASYNC PUBSUBLOOP PUBSUBCONTEXT": {do: subscribe("SUBSCRIBE")},
		"PSUBSCRIBE PSUBSCRIBEASYNC PSUBSCRIBEWITHTIMEOUT LISTENTOPATTERN SUBSCRIBETOCHANNELSMATCHING": {do: subscribe("PSUBSCRIBE")},
		"SSUBSCRIBE": {do: subscribe("SSUBSCRIBE")},
		"SENDCOMMAND SENDBLOCKINGCOMMAND EXECUTECOMMAND RAWCOMMAND EXECUTERAW CALL CALLV CALLONCE CALLBUFFER BLOCKINGCALL BLOCKINGCALLV " +
			"SENDCOMMANDASYNC INTERNALSENDCOMMAND DISPATCH CUSTOM EXECUTETYPED EXECUTEPUBSUB COMMAND ARBITRARY CMD FLATCMD DO DOCONTEXT " +
			"SEND SENDCONTEXT": {do: byName},
		"EXECUTE EXECUTEASYNC":                        {do: execute, yields: client},
		"XREAD XREADGROUP XREADASMAP XREADGROUPASMAP": {do: stream},
		"EVAL EVALBUFFER":                             {do: eval},
		"DEFINECOMMAND":                               {do: defineCommand},
		"SELECT GETDATABASE":                          {do: selectDB},
		"SETENABLETRANSACTIONSUPPORT":                 {do: transactionSupport},
		"TIME SAVE":                                   {do: noArguments},
		"REGISTERSCRIPT":                              {sends: "EVALSHA"},
		"OPSFORLIST BOUNDLISTOPS":                     {to: lists},
		"OPSFORVALUE":                                 {to: values},
		"OPSFORSTREAM":                                {to: streams},
		"RENAMEIFABSENT":                              {sends: "RENAMENX"},
		"KEYRENAME KEYRENAMEASYNC":                    {sends: "RENAME"},
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
		"EXEC EXECUTE EXECBUFFER EXECASYNC EXECUTEASYNC EXECTYPED EXECGETRESPONSE COMMIT COMMITASYNC DISCARD ROLLBACK ROLLBACKASYNC": {to: other},
		"MULTI":        {do: begin, yields: tx},
		"ADDCONDITION": {sends: "WATCH"},
		"EXECUTECOMMAND SENDCOMMAND CALL ADDCOMMAND RAWCOMMAND EXECUTERAW": {do: byName},
		"EVAL MOVE EXECASPIPELINE RESET PIPELINED CLOSE CLEAR":             {to: tx, yields: tx},
	}),
	pipe: keyed(map[string]effect{
		"EXEC EXECUTE DISCARD EXECBUFFER EXECUTEASYNC": {to: other},
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
				c.report(i, "MC203", "keyspace notifications through "+c.through())
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
	if strings.HasPrefix(c.name, "XREADGROUP") {
		name = "XREADGROUP"
	}
	c.streams(name, false)
	return value{role: other}
}

func (c *call) streams(name string, named bool) {
	if c.mentions("block", "blockms", "withblock") || c.recv.role == streams && c.name != "READ" || c.lang.id == Go && !named ||
		c.lang.id == PHP && name == "XREAD" && len(c.args) > 3 {
		c.keep(c.pos)
		if _, what := c.ruleFor(name, named); what != "" {
			c.tell(c.pos, "MC302", name+" with BLOCK through "+c.through()+"; "+what)
		}
		return
	}
	c.sent(named, name)
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
	verdict := c.profile.Rule("EVAL").Verdict
	switch {
	case c.sent(false, "EVAL"), verdict != proxycompat.OneKey && verdict != proxycompat.SameSlot:
	case n == "0" && verdict == proxycompat.OneKey:
		c.tells("MC502", "a script without keys")
	case n != "0" && n != "1" && n[0] >= '1' && n[0] <= '9':
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
