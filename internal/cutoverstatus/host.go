package cutoverstatus

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/unwatch/unwatch/internal/wrap"
)

// OnlyHost passes on requests whose Host is an IP address, localhost or name. Any other name is
// refused: by DNS rebinding, the page of a foreign site makes a browser read this server under the
// site's own name.
func OnlyHost(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if knownHost(r.Host, name) {
			next.ServeHTTP(w, r)
			return
		}
		http.Error(w, fmt.Sprintf("refused: the request is for the host %q, which may be of a foreign site. "+
			"Use an IP address of this server or localhost, or start it with -http NAME:PORT for a name of its own.",
			wrap.Shorten(r.Host, wrap.Width)), http.StatusForbidden)
	})
}

// knownHost accepts an empty host, which no browser sends.
func knownHost(host, name string) bool {
	if bare, _, err := net.SplitHostPort(host); err == nil {
		host = bare
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "" || host == "localhost" || host == strings.ToLower(strings.TrimSuffix(name, "."))
}
