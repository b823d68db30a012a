package control

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// local refuses requests whose Host is neither localhost nor a loopback address. Browsers would otherwise let a web page whose
// host name leads to this machine control the lab.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			http.Error(w, fmt.Sprintf("host %q: ask for 127.0.0.1 or localhost", r.Host), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLocal reports whether a Host header, with or without a port, is localhost or a loopback address.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
