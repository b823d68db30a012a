package result

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Processors is the time that the machine's processors have spent since its start, in the system's own unit.
type Processors struct{ idle, total float64 }

// ReadProcessors reads Linux' account, below the root of the file system. On other systems it is empty.
func ReadProcessors(root string) Processors {
	content, err := os.ReadFile(filepath.Join(root, "proc", "stat"))
	if err != nil {
		return Processors{}
	}
	line, _, _ := strings.Cut(string(content), "\n")
	fields := strings.Fields(line)
	const name, idle, wait, guest = 0, 4, 5, 9 // the time of guests is within that of users
	var p Processors
	for i, field := range fields {
		if i == name || i >= guest {
			continue
		}
		spent, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return Processors{}
		}
		p.total += spent
		if i == idle || i == wait {
			p.idle += spent
		}
	}
	return p
}

// IdleSince returns the unused share of the processors' time since then, over all programs of the machine; zero if unknown.
func (p Processors) IdleSince(before Processors) float64 {
	if p.total <= before.total {
		return 0
	}
	return (p.idle - before.idle) / (p.total - before.total)
}
