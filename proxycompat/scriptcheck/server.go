package scriptcheck

import "strings"

// wholeServer checks a command that covers all data of a server: with several servers its meaning changes.
func (w *walker) wholeServer(c *redisCall) {
	if !w.sharded {
		return
	}
	switch c.name() {
	case "KEYS", "SCAN", "RANDOMKEY", "DBSIZE", "INFO", "LASTSAVE", "ROLE", "PUBSUB", "SLOWLOG", "LATENCY":
		w.add(c.line, OneServer, c.name(), "one key that lists the others",
			"it sees what one server has, and there are several behind the proxy")
	case "MEMORY":
		if word, known := c.known(1); !known || !strings.EqualFold(word, "USAGE") {
			w.add(c.line, OneServer, c.name(), "", "it sees what one server has, and there are several behind the proxy")
		}
	case "FLUSHALL", "FLUSHDB", "CONFIG", "SWAPDB", "DEBUG", "ACL":
		w.add(c.line, OneServer, c.name(), "the same on each server, without the proxy",
			"it changes one server, and there are several behind the proxy")
	case "SELECT":
		w.add(c.line, OneServer, c.name(), "the database that the client has chosen",
			"it selects another database of one server, which the proxy does not notice")
	}
}

// message checks a publication: only clients that are connected to this server receive it.
func (w *walker) message(c *redisCall) {
	why := ""
	switch c.name() {
	case "PUBLISH":
		why = w.unheard
	case "SPUBLISH":
		why = w.sunheard
	}
	if why != "" {
		w.add(c.line, Unheard, c.name(), "polling, or a channel of your own",
			"no client can subscribe through the proxy: %s", why)
	}
}
