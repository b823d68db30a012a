package overload

import (
	"slices"
	"strings"

	"mongofork/lab/internal/proxy"
)

// exemptions are commands that no limiter rejects. They approximate, by command, the server's rule that clients are limited once
// they have authenticated. All others count, including commitTransaction, abortTransaction, killCursors, endSessions and ping. A
// server without authentication limits the exempt ones as well; the lab does not, because it cannot see who has authenticated.
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

// isExempt reports whether the request, or its application, is exempt. Like the server it compares the beginning of the
// application's name, and of the driver's.
func isExempt(req *proxy.Request, applications []string) bool {
	return slices.Contains(exemptions[:], req.Command) || slices.ContainsFunc(applications, func(prefix string) bool {
		return strings.HasPrefix(req.Client.AppName, prefix) || strings.HasPrefix(req.Client.DriverName, prefix)
	})
}
