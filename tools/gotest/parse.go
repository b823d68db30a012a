package gotest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// event is one line of the stream; see "go doc test2json" and, for the build events, "go help buildjson".
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
}

// keptOutput bounds the output kept at either end: the head has the message of a panic, the tail that of a failed assertion.
const keptOutput = 8 << 10

// excerpt collects a test's output and drops the middle of a long one.
type excerpt struct {
	head, tail []byte
	cut        bool
}

func (e *excerpt) add(output string) {
	n := min(keptOutput-len(e.head), len(output))
	e.head = append(e.head, output[:n]...)
	e.tail = append(e.tail, output[n:]...)
	if len(e.tail) > 2*keptOutput {
		e.tail, e.cut = e.tail[len(e.tail)-keptOutput:], true
	}
}

func (e *excerpt) lines() []string {
	text := string(e.head)
	if e.cut {
		text += "\n[some output left out]\n"
	}
	if text = strings.TrimSuffix(text+string(e.tail), "\n"); text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// parser accumulates the events of one stream.
type parser struct {
	outcomes map[Key]Outcome
	outputs  map[Key]*excerpt
	builds   map[string]*excerpt
	stray    excerpt
	onEnd    func(Key, Outcome)
}

// Parse reads a stream of events to its end. It calls onEnd, which may be nil, whenever a test or package ends. A test without a
// result at the end of the stream counts as failed, because its process died.
func Parse(stream io.Reader, onEnd func(Key, Outcome)) (*Result, error) {
	p := &parser{outcomes: map[Key]Outcome{}, outputs: map[Key]*excerpt{}, builds: map[string]*excerpt{}, onEnd: onEnd}
	reader := bufio.NewReaderSize(stream, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			p.line(line)
		}
		if errors.Is(err, io.EOF) {
			return p.result(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

// line handles one line. A line that is no event was written by a child process of a test or by the go command.
func (p *parser) line(line []byte) {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		p.stray.add(string(line))
		return
	}
	key := e.key()
	switch e.Action {
	case "build-output":
		output(p.builds, e.ImportPath).add(e.Output)
	case "start", "run":
		if _, again := p.outcomes[key]; !again {
			p.outcomes[key] = Missing
		}
	case "output":
		output(p.outputs, key).add(e.Output)
	case "pass":
		p.end(key, Passed)
	case "fail":
		if e.FailedBuild != "" {
			output(p.outputs, key).add(strings.Join(output(p.builds, e.FailedBuild).lines(), "\n"))
		}
		p.end(key, Failed)
	case "skip":
		p.end(key, Skipped)
	}
}

func output[K comparable](all map[K]*excerpt, key K) *excerpt {
	if all[key] == nil {
		all[key] = new(excerpt)
	}
	return all[key]
}

// end notes an outcome. Names that differ only in a pointer are one key: its failure counts.
func (p *parser) end(key Key, outcome Outcome) {
	if p.outcomes[key] != Failed {
		p.outcomes[key] = outcome
	}
	if outcome == Passed {
		delete(p.outputs, key)
	}
	if p.onEnd != nil {
		p.onEnd(key, outcome)
	}
}

// pointer matches a pointer in the name of a subtest that was named with %#v, as in "(*T)(0xc000012345)".
var pointer = regexp.MustCompile(`\)\(0x[0-9a-f]+\)`)

// address replaces any pointer in a key, because runs are compared by name and pointers differ between them.
const address = "0xADDRESS"

func (e event) key() Key {
	return Key{e.Package, pointer.ReplaceAllString(e.Test, ")("+address+")")}
}

// result closes the books: tests without an outcome have failed.
func (p *parser) result() *Result {
	result := NewResult()
	result.Stray = p.stray.lines()
	for key, outcome := range p.outcomes {
		c := Case{Key: key, Outcome: outcome, Output: output(p.outputs, key).lines()}
		if outcome == Missing {
			c.Outcome, c.Output = Failed, append(c.Output, unfinished)
		}
		result.cases[key] = c
	}
	return result
}
