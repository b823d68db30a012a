package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"mongofork/lab/virtual/trial"
)

// memory keeps the traces of one program in a file, so that upstream's side of a plan runs once for all forks that it is compared with.
type memory struct {
	file   *os.File
	traces map[string][]trial.Trace
	asked  map[string]int // how many runs of an order this process has asked for
}

// remembered is a line of the file. The first has the program's checksum as its key, without which the rest is of another program.
type remembered struct {
	Key   string
	Trace trial.Trace
}

func remember(file, program string) (*memory, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	m := &memory{file: f, traces: map[string][]trial.Trace{}, asked: map[string]int{}}
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	for lines, n := bufio.NewReader(f), 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		var r remembered
		switch {
		case err == io.EOF && n > 0: // half a line is of a process that was killed
			return m, m.cut(len(line))
		case err != nil && err != io.EOF:
			return nil, err
		case json.Unmarshal(line, &r) == nil && (n > 0 || r.Key == sum):
			m.traces[r.Key] = append(m.traces[r.Key], r.Trace)
		case n == 0:
			if err := f.Truncate(0); err != nil {
				return nil, err
			}
			return m, m.add(sum, trial.Trace{})
		}
	}
}

// cut takes bytes from the file's end.
func (m *memory) cut(bytes int) error {
	info, err := m.file.Stat()
	if err != nil || bytes == 0 {
		return err
	}
	return m.file.Truncate(info.Size() - int64(bytes))
}

// next returns the trace of an order's next run, if it is known.
func (m *memory) next(o order) (t trial.Trace, ok bool) {
	key := o.key()
	n := m.asked[key]
	m.asked[key]++
	if n >= len(m.traces[key]) {
		return t, false
	}
	return m.traces[key][n], true
}

// key stands for the order in the file.
func (o order) key() string {
	text, _ := json.Marshal(o)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// add notes a trace.
func (m *memory) add(key string, t trial.Trace) error {
	m.traces[key] = append(m.traces[key], t)
	return json.NewEncoder(m.file).Encode(remembered{key, t})
}
