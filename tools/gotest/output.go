package gotest

import (
	"fmt"
	"regexp"
	"strings"
)

// keptLines bounds the output kept at either end: the head has the message of a panic, the tail that of a failed assertion.
const keptLines = 40

// excerpt collects a test's output and drops the middle of a long one.
type excerpt struct {
	head, tail []string
	dropped    int
	partial    strings.Builder
}

// add appends a piece of output, which need not end with a line.
func (e *excerpt) add(output string) {
	e.partial.WriteString(output)
	if !strings.HasSuffix(output, "\n") {
		return
	}
	text := strings.TrimSuffix(e.partial.String(), "\n")
	e.partial.Reset()
	for _, line := range strings.Split(text, "\n") {
		e.addLine(line)
	}
}

func (e *excerpt) addLine(line string) {
	if len(e.head) < keptLines {
		e.head = append(e.head, line)
		return
	}
	if len(e.tail) == keptLines {
		e.tail = append(e.tail[:0], e.tail[1:]...)
		e.dropped++
	}
	e.tail = append(e.tail, line)
}

// lines returns the kept output.
func (e *excerpt) lines() []string {
	if rest := e.partial.String(); rest != "" {
		e.partial.Reset()
		e.addLine(rest)
	}
	lines := append([]string(nil), e.head...)
	if e.dropped > 0 {
		lines = append(lines, fmt.Sprintf("[%d lines left out]", e.dropped))
	}
	return append(lines, e.tail...)
}

// logLine matches what testing.T.Log writes: an indented file name, the line
// number and the text.
var logLine = regexp.MustCompile(`^\s*[^\s:]+\.go:\d+: (.*)$`)

// skipReason returns the last line that a skipped test logged, because Skip logs its reason and ends the test.
func skipReason(output []string) string {
	var reason []string
	for _, line := range output {
		if match := logLine.FindStringSubmatch(line); match != nil {
			reason = []string{match[1]}
			continue
		}
		if isFraming(line) {
			continue
		}
		if reason != nil {
			reason = append(reason, strings.TrimSpace(line))
		}
	}
	text := strings.TrimSpace(strings.Join(reason, " "))
	if text == "" {
		return "no reason given"
	}
	return text
}

// isFraming reports whether the testing package, not the test, wrote the line.
func isFraming(line string) bool {
	line = strings.TrimSpace(line)
	for _, prefix := range []string{"=== ", "--- PASS:", "--- FAIL:", "--- SKIP:"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}
