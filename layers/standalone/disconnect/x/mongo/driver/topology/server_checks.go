//fork:base >=v2.10.0

package topology

import "context"

// Server ends its checks when it is disconnected.
//
//fork:extend its checks have to end with it
type Server struct {
	checks    context.Context // of all checks; it ends when the server is disconnected
	endChecks context.CancelFunc
}
