package proxytest

import (
	"slices"
	"strings"

	"github.com/unwatch/unwatch/internal/resp"
	"github.com/unwatch/unwatch/proxycompat"
)

// password behaves as a server with a password, for any server behind. It returns the command without its
// AUTH part, or the reply if the command ends here.
func (s *session) password(args []string) (instead []string, o outcome, done bool) {
	switch name := strings.ToUpper(args[0]); {
	case s.p.cfg.Password == "" || s.tunnel:
		return args, outcome{}, false
	case name == "AUTH" && len(args) > 1:
		return nil, s.serverAuth(args), true
	case name == "HELLO":
		return s.helloAuth(args)
	case name == "RESET":
		s.authed = false
	case !s.authed && name != "QUIT":
		return nil, localError("NOAUTH Authentication required."), true
	}
	return args, outcome{}, false
}

// serverAuth answers AUTH; before Redis 6 it accepts a password only.
func (s *session) serverAuth(args []string) outcome {
	old := s.beforeUsers()
	switch {
	case old && len(args) > 2:
		return localError("ERR wrong number of arguments for 'auth' command")
	case len(args) > 3:
		return localError("ERR syntax error")
	case s.admits(args[1:]):
		s.authed = true
		return local(resp.AppendStatus(nil, "OK"))
	case old:
		s.authed = false
		return localError("ERR invalid password")
	}
	return localError("WRONGPASS invalid username-password pair or user is disabled.")
}

// helloAuth removes AUTH from HELLO.
func (s *session) helloAuth(args []string) (instead []string, o outcome, done bool) {
	for i := 2; i < len(args); i++ {
		switch {
		case strings.EqualFold(args[i], "SETNAME"):
			i++
		case strings.EqualFold(args[i], "AUTH") && i+2 < len(args):
			if !s.admits(args[i+1 : i+3]) {
				return nil, localError("WRONGPASS invalid username-password pair or user is disabled."), true
			}
			s.authed = true
			return slices.Concat(args[:i], args[i+3:]), outcome{}, false
		}
	}
	if !s.authed {
		return nil, localError("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH " +
			"<user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"), true
	}
	return args, outcome{}, false
}

// admits reports whether words are the password, or the default user and the password.
func (s *session) admits(words []string) bool {
	return words[len(words)-1] == s.p.cfg.Password && (len(words) == 1 || words[0] == "default")
}

// beforeUsers reports whether the server is older than Redis 6, which introduced users.
func (s *session) beforeUsers() bool {
	v := s.p.profile.Backend()
	return v != (proxycompat.Version{}) && v.Before(proxycompat.Version{Major: 6})
}
