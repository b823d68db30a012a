package overload

import (
	"slices"
	"strings"

	"mongofork/lab/internal/proxy"
)

// exemptions are commands that no limiter rejects. They follow from the server's rule, that clients are limited once they
// have authenticated, wherever that comes down to a command. All others count: commitTransaction, abortTransaction,
// killCursors, endSessions and ping, too. A server without authentication limits these here as well; the lab does not, for
// it cannot see who has authenticated.
var exemptions = [...]string{
	"hello",    // comes before authentication, and monitoring must go on in an overload
	"isMaster", // the same for older clients
	"ismaster",

	"saslStart", // is authentication
	"saslContinue",
	"authenticate",

	"configureFailPoint", // control the test, and have to be able to end it
	"setParameter",
	"getParameter",
}

// isExempt tells whether a limiter lets the request pass by itself or because of the application. Like the server it
// compares the beginning of the application's name, and of the driver's.
func isExempt(req *proxy.Request, applications []string) bool {
	return slices.Contains(exemptions[:], req.Command) || slices.ContainsFunc(applications, func(prefix string) bool {
		return strings.HasPrefix(req.Client.AppName, prefix) || strings.HasPrefix(req.Client.DriverName, prefix)
	})
}
