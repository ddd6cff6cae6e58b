package lexical

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// methods are the commands with methods that count by their name. Those of data commands, such as SORT, need a receiver
// that says Redis.
var methods = words("WATCH MULTI EXEC DISCARD UNWATCH SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE " +
	"PUBLISH SPUBLISH BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF KEYS SCAN RENAME RENAMENX MOVE " +
	"OBJECT BITOP MSETNX RANDOMKEY MIGRATE RESTORE XREAD XREADGROUP EVALSHA SCRIPT CONFIG CLIENT TIME FLUSHALL FLUSHDB DBSIZE LASTSAVE " +
	"SAVE BGSAVE BGREWRITEAOF SLOWLOG LATENCY MONITOR DEBUG SLAVEOF SHUTDOWN")

// transactions are the commands that have a rule of their own when they are sent by name.
var transactions = []string{"WATCH", "MULTI", "EXEC", "DISCARD", "UNWATCH"}

// fold is a name without what languages dress it with: XREAD_GROUP, xReadGroup, _xreadgroup.
func fold(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", "")) }

// dressed are methods that are not named after their command.
var dressed = byMethod(map[string]string{
	"SCAN": "SCANITER SCANITERATOR SCANSTREAM SCANEACH SCANBUFFERSTREAM SCANTYPE ISCAN SCANALLKEYS EACHKEY SEARCHKEYS GETKEYSBYPATTERN",
	"SUBSCRIBE": "SUBSCRIBEWITHTIMEOUT LISTENTOCHANNEL LISTENTO SUBSCRIBELIST SUBSCRIBETOCHANNELS SUBSCRIBETOCHANNELSASYNC PUBSUBLOOP " +
		"PUBSUBCONTEXT",
	"PSUBSCRIBE":  "PSUBSCRIBEWITHTIMEOUT LISTENTOPATTERN SUBSCRIBETOCHANNELSMATCHING",
	"UNSUBSCRIBE": "UNSUBSCRIBEALL",
	"PUBLISH":     "CONVERTANDSEND PUBLISHMESSAGE",
	"BLPOP":       "BLOCKINGDEQUEUEITEMFROMLIST BLOCKINGDEQUEUEITEMFROMLISTS BLOCKINGREMOVESTARTFROMLIST",
	"BRPOP":       "BLOCKINGPOPITEMFROMLIST",
	"BRPOPLPUSH":  "BLOCKINGPOPANDPUSHITEMBETWEENLISTS",
	"RENAME":      "RENAMEKEY KEYRENAME", "RENAMENX": "RENAMEX RENAMEIFABSENT", "MSETNX": "MAPPEDMSETNX MULTISETIFABSENT",
	"OBJECT":  "OBJECTENCODING OBJECTREFCOUNT OBJECTIDLETIME OBJECTFREQ KEYIDLETIME KEYENCODING KEYREFCOUNT",
	"SCRIPT":  "SCRIPTLOAD SCRIPTEXISTS SCRIPTFLUSH SCRIPTKILL SCRIPTDEBUG LOADLUASCRIPT",
	"CONFIG":  "CONFIGGET CONFIGSET SETCONFIG CONFIGRESETSTAT CONFIGREWRITE",
	"CLIENT":  "CLIENTLIST CLIENTKILL CLIENTSETNAME CLIENTGETNAME CLIENTID CLIENTPAUSE CLIENTINFO CLIENTTRACKING CLIENTREPLY CLIENTUNBLOCK",
	"SLOWLOG": "SLOWLOGGET SLOWLOGLEN SLOWLOGRESET", "DEBUG": "DEBUGOBJECT DEBUGSEGFAULT", "MOVE": "KEYMOVE",
	"RANDOMKEY": "KEYRANDOM GETRANDOMKEY", "MIGRATE": "KEYMIGRATE", "RESTORE": "KEYRESTORE", "BITOP": "STRINGBITOPERATION",
	"FLUSHDB": "FLUSHDATABASE", "FLUSHALL": "FLUSHALLDATABASES", "DBSIZE": "DATABASESIZE", "KEYS": "GETALLKEYS",
	"LATENCY": "LATENCYDOCTOR", "CLUSTER": "CLUSTERINFO CLUSTERNODES CLUSTERSLOTS",
})

// byMethod turns a table of methods by command.
func byMethod(table map[string]string) map[string]string {
	all := map[string]string{}
	for command, methods := range table {
		for method := range strings.FieldsSeq(methods) {
			all[method] = command
		}
	}
	return all
}

// commandOf returns the command that a method sends.
func commandOf(method string, traced bool) (string, bool) {
	name := fold(bare(method))
	for _, ending := range []string{"", "ASYNC", "BUFFER"} {
		short := strings.TrimSuffix(name, ending)
		if command, ok := dressed[short]; ok {
			return command, true
		}
		if methods[short] || traced && isData(short) {
			return short, true
		}
	}
	return "", false
}

// isData reports whether a command reads or writes data.
func isData(name string) bool {
	known, _ := proxycompat.CommandOf(name)
	return known.ReadOnly() || known.Writes()
}

// verdicts have the effect of a proxy, for rules that are not about one command.
var verdicts = map[string]string{
	"MC203": "they do not pass a proxy",
	"MC501": "the proxy goes by the first key alone",
	"MC502": "without keys the proxy goes by the first argument",
	"MC601": "the proxy speaks as a single server",
	"MC603": "check that the proxy has this database",
}

// advices is what to do, by rule.
var advices = map[string]string{
	"MC101": "one key: a guarded update or a script on this key; several: a lock, with ordered writes",
	"MC102": "a guarded update, or a script on one slot; if nothing depends on it being atomic, a plain pipeline",
	"MC103": "as for MC101 and MC102: a guarded update, or a script on one slot",
	"MC201": "keep one direct connection to a Redis that is not behind the proxy, or use a queue",
	"MC202": "publish to a Redis that is not behind the proxy, or to a queue",
	"MC203": "poll, or listen at the servers directly",
	"MC301": "poll with a back-off, or use a direct connection",
	"MC302": "poll with a back-off, or use a direct connection",
	"MC401": "keep an index of the keys, or ask the servers directly",
	"MC402": "give the keys the same hash tag, or use one command per key",
	"MC404": "use a direct connection for streams",
	"MC501": "give the keys the same hash tag",
	"MC502": "declare the keys",
	"MC503": "hand every key over in KEYS",
	"MC504": "leave that to the program that calls the script",
	"MC505": "send the script with EVAL, or fall back to it",
	"MC601": "connect to the proxy as to a single server",
	"MC602": "leave it out of the options",
	"MC603": "use database 0, and a prefix for each kind of keys",
	"MC701": "ask the servers directly",
	"MC902": "look which command that can be",
}
