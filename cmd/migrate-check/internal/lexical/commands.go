package lexical

import (
	"strings"

	"github.com/unwatch/unwatch/proxycompat"
)

// methods are the commands whose methods count on any client that may be one of Redis. Those of other
// data commands, such as SORT, count on a client that was traced to a library.
var methods = words("WATCH MULTI EXEC DISCARD UNWATCH SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE " +
	"PUBLISH SPUBLISH BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF KEYS SCAN RENAME RENAMENX MOVE " +
	"OBJECT BITOP MSETNX RANDOMKEY MIGRATE RESTORE XREAD XREADGROUP EVALSHA SCRIPT CONFIG CLIENT TIME FLUSHALL FLUSHDB DBSIZE LASTSAVE " +
	"SAVE BGSAVE BGREWRITEAOF SLOWLOG LATENCY MONITOR DEBUG SLAVEOF SHUTDOWN")

// transactions are the commands that have a rule of their own when they are sent by name.
var transactions = []string{"WATCH", "MULTI", "EXEC", "DISCARD", "UNWATCH"}

// fold is a name without what languages dress it with: XREAD_GROUP, xReadGroup, _xreadgroup.
func fold(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", "")) }

// dressed are methods that are not named after their command.
var dressed = map[string]string{
	"SCANITER": "SCAN", "SCANITERATOR": "SCAN", "SCANSTREAM": "SCAN", "SCANEACH": "SCAN", "SCANBUFFERSTREAM": "SCAN",
	"SCANTYPE": "SCAN", "ISCAN": "SCAN", "SCANALLKEYS": "SCAN", "EACHKEY": "SCAN",
	"BLPOPBUFFER": "BLPOP", "BRPOPBUFFER": "BRPOP", "BRPOPLPUSHBUFFER": "BRPOPLPUSH", "BZPOPMINBUFFER": "BZPOPMIN",
	"KEYSBUFFER": "KEYS", "RENAMEX": "RENAMENX", "RENAMEKEY": "RENAME", "MAPPEDMSETNX": "MSETNX",
	"OBJECTENCODING": "OBJECT", "OBJECTREFCOUNT": "OBJECT", "OBJECTIDLETIME": "OBJECT", "OBJECTFREQ": "OBJECT",
	"SCRIPTLOAD": "SCRIPT", "SCRIPTEXISTS": "SCRIPT", "SCRIPTFLUSH": "SCRIPT", "SCRIPTKILL": "SCRIPT", "SCRIPTDEBUG": "SCRIPT",
	"CONFIGGET": "CONFIG", "CONFIGSET": "CONFIG", "CONFIGRESETSTAT": "CONFIG", "CONFIGREWRITE": "CONFIG",
	"CLIENTLIST": "CLIENT", "CLIENTKILL": "CLIENT", "CLIENTSETNAME": "CLIENT", "CLIENTGETNAME": "CLIENT", "CLIENTID": "CLIENT",
	"CLIENTPAUSE": "CLIENT", "CLIENTINFO": "CLIENT", "CLIENTTRACKING": "CLIENT", "CLIENTREPLY": "CLIENT", "CLIENTUNBLOCK": "CLIENT",
	"SLOWLOGGET": "SLOWLOG", "SLOWLOGLEN": "SLOWLOG", "SLOWLOGRESET": "SLOWLOG", "DEBUGOBJECT": "DEBUG", "DEBUGSEGFAULT": "DEBUG",
	"KEYMOVE": "MOVE", "KEYRANDOM": "RANDOMKEY", "KEYMIGRATE": "MIGRATE", "KEYRESTORE": "RESTORE", "STRINGBITOPERATION": "BITOP",
	"KEYIDLETIME": "OBJECT", "KEYENCODING": "OBJECT", "KEYREFCOUNT": "OBJECT", "STREAMREAD": "XREAD", "STREAMREADGROUP": "XREADGROUP",
	"FLUSHDATABASE": "FLUSHDB", "FLUSHALLDATABASES": "FLUSHALL", "DATABASESIZE": "DBSIZE", "SEARCHKEYS": "SCAN",
	"UNSUBSCRIBEALL": "UNSUBSCRIBE",
	"GETALLKEYS":     "KEYS", "GETKEYSBYPATTERN": "SCAN", "BLOCKINGDEQUEUEITEMFROMLIST": "BLPOP",
	"BLOCKINGREMOVESTARTFROMLIST": "BLPOP", "BLOCKINGPOPITEMFROMLIST": "BRPOP", "BLOCKINGPOPANDPUSHITEMBETWEENLISTS": "BRPOPLPUSH",
	"BLOCKINGDEQUEUEITEMFROMLISTS": "BLPOP", "GETRANDOMKEY": "RANDOMKEY", "LOADLUASCRIPT": "SCRIPT", "MULTISETIFABSENT": "MSETNX",
	"LATENCYDOCTOR": "LATENCY", "CLUSTERINFO": "CLUSTER", "CLUSTERNODES": "CLUSTER", "CLUSTERSLOTS": "CLUSTER",
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
