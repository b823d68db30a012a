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
	"time"
)

// event is one line of the stream; see "go doc test2json" and, for the build
// events, "go help buildjson".
type event struct {
	Action      string
	Package     string
	ImportPath  string
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string
}

// record is a test, or with an empty name a package, while it runs.
type record struct {
	outcome Outcome
	elapsed time.Duration
	output  excerpt
}

// parser accumulates the events of one stream.
type parser struct {
	records map[Key]*record
	builds  map[string]*excerpt
	stray   excerpt
	onEnd   func(Key, Outcome)
}

// Parse reads a stream of events to its end. It calls onEnd, which may be nil, whenever a test or package ends. A test without a
// result at the end of the stream counts as failed, because its process died.
func Parse(stream io.Reader, onEnd func(Key, Outcome)) (*Result, error) {
	p := &parser{records: map[Key]*record{}, builds: map[string]*excerpt{}, onEnd: onEnd}
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
	switch e.Action {
	case "build-output":
		p.build(e.ImportPath).add(e.Output)
	case "start", "run":
		p.record(e.key())
	case "output":
		p.record(e.key()).output.add(e.Output)
	case "pass":
		p.end(e, Passed)
	case "fail":
		p.end(e, Failed)
	case "skip":
		p.end(e, Skipped)
	}
}

// pointer matches a pointer in the name of a subtest that was named with %#v, as
// in "(*T)(0xc000012345)".
var pointer = regexp.MustCompile(`\)\(0x[0-9a-f]+\)`)

// key returns the key of the event's test. Pointers are replaced, because runs are compared by name and pointers differ between
// them.
func (e event) key() Key {
	test := e.Test
	if strings.Contains(test, ")(0x") {
		test = pointer.ReplaceAllString(test, ")("+address+")")
	}
	return Key{Package: e.Package, Test: test}
}

func (p *parser) record(key Key) *record {
	r, ok := p.records[key]
	if !ok {
		r = &record{}
		p.records[key] = r
	}
	return r
}

func (p *parser) build(importPath string) *excerpt {
	b, ok := p.builds[importPath]
	if !ok {
		b = &excerpt{}
		p.builds[importPath] = b
	}
	return b
}

func (p *parser) end(e event, outcome Outcome) {
	r := p.record(e.key())
	if r.outcome != Failed {
		// Names that differ only in a pointer are one key: its failure counts.
		r.outcome = outcome
	}
	r.elapsed = time.Duration(e.Elapsed * float64(time.Second))
	if e.FailedBuild != "" {
		for _, line := range p.build(e.FailedBuild).lines() {
			r.output.addLine(line)
		}
	}
	if p.onEnd != nil {
		p.onEnd(e.key(), outcome)
	}
}

// unfinished is the last line of the output of a case whose process ended before the case did.
const unfinished = "[the test process ended before this had a result]"

// result closes the books: records without an outcome have failed.
func (p *parser) result() *Result {
	result := &Result{cases: make(map[Key]Case, len(p.records)), Stray: p.stray.lines()}
	for key, r := range p.records {
		if r.outcome == Missing {
			r.outcome = Failed
			r.output.addLine(unfinished)
		}
		result.cases[key] = Case{Key: key, Outcome: r.outcome, Elapsed: r.elapsed, Output: r.output.lines()}
	}
	return result
}

// TopLevel returns the name of the test function of a test or subtest.
func TopLevel(test string) string {
	name, _, _ := strings.Cut(test, "/")
	return name
}
