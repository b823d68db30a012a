package soak

import (
	"context"
	"os"
	"sync"

	"go.mongodb.org/mongo-driver/v2/event"
)

// maxCommands is the specification's limit of commands for one operation: one, and five retries.
const maxCommands = 6

// attempts counts the commands of each operation, by the comments that the workers set. It is safe for concurrent use.
type attempts struct {
	mu    sync.Mutex
	count map[string]int
}

// started counts a command.
func (a *attempts) started(_ context.Context, e *event.CommandStartedEvent) {
	// A cursor's getMore has the comment of the find, and there is one for each batch.
	if comment, ok := e.Command.Lookup("comment").StringValueOK(); ok && e.CommandName != "getMore" {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.count == nil {
			a.count = make(map[string]int)
		}
		a.count[e.CommandName+" "+comment]++
	}
}

// check reports the operations with more commands than allowed.
func (a *attempts) check(report *Report) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for operation, n := range a.count {
		report.Most = max(report.Most, n)
		if n > maxCommands {
			report.violation("operations of more than 6 commands", "%s: %d", operation, n)
		}
	}
}

// openFiles returns how many files and connections this process has open.
func openFiles() (int, error) {
	files, err := os.ReadDir("/dev/fd")
	return len(files), err
}
