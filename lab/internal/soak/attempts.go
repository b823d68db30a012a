package soak

import (
	"context"
	"sync"

	"mongofork/lab/internal/proxy"
)

// maxCommands is the specification's limit of commands for one operation: one, and five retries.
const maxCommands = 6

// Attempts counts the commands that the server saw for each operation, by the comments that this program sets. It is safe for
// concurrent use, by many fronts.
type Attempts struct {
	mu    sync.Mutex
	count map[string]int
}

var _ proxy.Handler = (*Attempts)(nil)

// Handle implements proxy.Handler.
func (a *Attempts) Handle(ctx context.Context, req *proxy.Request, reply proxy.ReplyFunc, next proxy.Next) error {
	// A cursor's getMore has the comment of the find, and there is one for each batch.
	if comment, ok := req.Document().Lookup("comment").StringValueOK(); ok && req.Command != "getMore" {
		a.add(req.Command + " " + comment)
	}
	return next(ctx, req, reply)
}

func (a *Attempts) add(operation string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count = make(map[string]int)
	}
	a.count[operation]++
}

// check reports the operations with more commands than allowed.
func (a *Attempts) check(report *Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	commands, most := 0, 0
	for operation, n := range a.count {
		commands += n
		most = max(most, n)
		if n > maxCommands {
			report.violation("operations of more than 6 commands", "%s: %d", operation, n)
		}
	}
	if len(a.count) == 0 {
		report.violation("operations that the server never saw", "it saw no comment at all")
		return
	}
	report.Most = most
	report.note("%d operations took %d commands, %.3f each and at most %d", len(a.count), commands,
		float64(commands)/float64(len(a.count)), most)
}
