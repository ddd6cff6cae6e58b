package lexical

import "strings"

// ruled are the commands that a proxy does not carry out as they are meant, and the rule of
// each.
var ruled = map[string]string{
	"WATCH": "MC101", "MULTI": "MC102", "EXEC": "MC102", "DISCARD": "MC102", "UNWATCH": "MC103",
	"SUBSCRIBE": "MC201", "PSUBSCRIBE": "MC201", "SSUBSCRIBE": "MC201",
	"UNSUBSCRIBE": "MC201", "PUNSUBSCRIBE": "MC201", "SUNSUBSCRIBE": "MC201",
	"PUBLISH": "MC202", "SPUBLISH": "MC202",
	"BLPOP": "MC301", "BRPOP": "MC301", "BRPOPLPUSH": "MC301",
	"BLMOVE": "MC302", "BLMPOP": "MC302", "BZPOPMIN": "MC302", "BZPOPMAX": "MC302", "BZMPOP": "MC302",
	"WAIT": "MC302", "WAITAOF": "MC302",
	"KEYS": "MC401", "SCAN": "MC401", "RENAME": "MC401", "RENAMENX": "MC401", "MOVE": "MC401", "OBJECT": "MC401",
	"BITOP": "MC401", "MSETNX": "MC401", "RANDOMKEY": "MC401", "MIGRATE": "MC401", "RESTORE": "MC401",
	"XREAD": "MC404", "XREADGROUP": "MC404",
	"EVALSHA": "MC505", "SCRIPT": "MC505",
	"CONFIG": "MC701", "CLIENT": "MC701", "TIME": "MC701", "FLUSHALL": "MC701", "FLUSHDB": "MC701", "DBSIZE": "MC701",
	"LASTSAVE": "MC701", "SAVE": "MC701", "BGSAVE": "MC701", "BGREWRITEAOF": "MC701", "SLOWLOG": "MC701",
	"LATENCY": "MC701", "MONITOR": "MC701", "DEBUG": "MC701", "SLAVEOF": "MC701", "SHUTDOWN": "MC701", "CLUSTER": "MC701",
}

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
	"FLUSH": "", "LATENCYDOCTOR": "LATENCY", "CLUSTERINFO": "CLUSTER", "CLUSTERNODES": "CLUSTER", "CLUSTERSLOTS": "CLUSTER",
}

// commandOf is the command that a method sends, if it is one that a proxy does not like.
func commandOf(method string) (string, bool) {
	name := fold(bare(method))
	if command, ok := dressed[name]; ok {
		return command, command != ""
	}
	for _, ending := range []string{"", "ASYNC", "BUFFER"} {
		short := strings.TrimSuffix(name, ending)
		if command, ok := dressed[short]; ok && command != "" {
			return command, true
		}
		if ruled[short] != "" {
			return short, short != "CLUSTER"
		}
	}
	return "", false
}

// verdicts is what becomes of the commands of a rule.
var verdicts = map[string]string{
	"MC302": "it holds up a connection of the proxy that others share",
	"MC404": "the proxy sends it to the wrong server",
	"MC501": "the proxy goes by the first key alone",
	"MC502": "without keys the proxy goes by the first argument",
	"MC601": "the proxy speaks as a single server",
	"MC602": "the proxy answers that with an error",
	"MC603": "check that the proxy has this database",
	"MC203": "they do not pass a proxy",
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
