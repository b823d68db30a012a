package mongod

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

const (
	logTailBytes = 64 << 10
	logTailLines = 20
	reasonLength = 300
)

// logTail returns the last lines of the member's log.
func (m *Member) logTail() string {
	lines := tail(m.log())
	return strings.Join(lines[max(0, len(lines)-logTailLines):], "\n")
}

// tail returns the lines at the end of a file, none if it cannot be read.
func tail(path string) []string {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	text = bytes.TrimSpace(text[max(0, len(text)-logTailBytes):])
	return strings.Split(string(text), "\n")
}

// because returns a colon and the reason for a process's end from its log, or nothing: the last entry that is an error or fatal,
// or else the last line if it is not an entry, such as one of the dynamic linker.
func because(path string) string {
	lines := tail(path)
	for i := len(lines) - 1; i >= 0; i-- {
		var entry struct {
			Severity   string         `json:"s"`
			Message    string         `json:"msg"`
			Attributes map[string]any `json:"attr"`
		}
		if json.Unmarshal([]byte(lines[i]), &entry) != nil {
			if i == len(lines)-1 && lines[i] != "" {
				return shorten(lines[i])
			}
			continue
		}
		// An entry without a reason, such as that of the abort, follows the one that has it.
		if (entry.Severity == "F" || entry.Severity == "E") && entry.Attributes["error"] != nil {
			return shorten(fmt.Sprintf("%s %v", entry.Message, entry.Attributes["error"]))
		}
	}
	return ""
}

func shorten(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > reasonLength {
		text = text[:reasonLength] + "…"
	}
	return ": " + text
}
