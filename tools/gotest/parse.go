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

// parser accumulates the events of one stream.
type parser struct {
	outcomes map[Key]Outcome
	outputs  map[Key]string
	builds   map[string]string
	stray    string
}

// Parse reads a stream of events to its end. A test without a result at the end of the stream counts as failed, because its process
// died.
func Parse(stream io.Reader) (*Result, error) {
	p := &parser{outcomes: map[Key]Outcome{}, outputs: map[Key]string{}, builds: map[string]string{}}
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
		p.stray += string(line)
		return
	}
	key := e.key()
	switch e.Action {
	case "build-output":
		p.builds[e.ImportPath] += e.Output
	case "start", "run":
		if _, again := p.outcomes[key]; !again {
			p.outcomes[key] = Missing
		}
	case "output":
		p.outputs[key] += e.Output
	case "pass":
		p.end(key, Passed)
	case "fail":
		p.outputs[key] += p.builds[e.FailedBuild]
		p.end(key, Failed)
	case "skip":
		p.end(key, Skipped)
	}
}

func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// end notes an outcome. Names that differ only in a pointer are one key: its failure counts.
func (p *parser) end(key Key, outcome Outcome) {
	if p.outcomes[key] != Failed {
		p.outcomes[key] = outcome
	}
	if outcome == Passed {
		delete(p.outputs, key)
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
	result.Stray = lines(p.stray)
	for key, outcome := range p.outcomes {
		c := Case{Key: key, Outcome: outcome, Output: lines(p.outputs[key])}
		if outcome == Missing {
			c.Outcome, c.Output = Failed, append(c.Output, unfinished)
		}
		result.cases[key] = c
	}
	return result
}
