package overhead

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"mongofork/bench/internal/connstring"
)

// Arm is a program that does the operations with one driver and its options.
type Arm struct {
	Name    string
	Program string
	Options string // of the connection string, such as "adaptiveRetries=true"
}

// Config is what to measure.
type Config struct {
	Arms  []Arm // the first is what the others are compared with
	Cases []Case
	URI   string // of the server
	// Database is where the operations find what workload.Fill inserts.
	Database string
	Rounds   int
	// Run is how long each run is to take, not counting its start.
	Run time.Duration
	// Limit is the time after which no further round is begun; zero sets none.
	Limit time.Duration
	Now   func() time.Time
	// Progress, unless nil, is called after each round.
	Progress func(done, of int)
}

// Results is what was measured. There is a cell for each case and arm.
type Results struct {
	Rounds int      `json:"rounds"`
	Arms   []string `json:"arms"`
	Cases  []Case   `json:"cases"`
	Cells  []*Cell  `json:"cells"`
}

// Cell is one case with one arm.
type Cell struct {
	Case
	Arm        string `json:"arm"`
	Operations int    `json:"operations"` // in each round
	// Samples is the costs of an operation in each round, by unit.
	Samples map[string][]float64 `json:"samples"`
}

// Cell returns the cell of a case and an arm, or nil.
func (r *Results) Cell(c Case, arm string) *Cell {
	for _, cell := range r.Cells {
		if cell.Case == c && cell.Arm == arm {
			return cell
		}
	}
	return nil
}

// Measure runs all cases with all arms, in rounds.
func Measure(ctx context.Context, c Config) (*Results, error) {
	began := c.Now()
	r, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	for r.Rounds < c.Rounds && (r.Rounds == 0 || c.Limit == 0 || c.Now().Sub(began) < c.Limit) {
		for i := range c.Cases {
			if err := c.pair(ctx, r.Rounds, r.Cells[i*len(c.Arms):][:len(c.Arms)]); err != nil {
				return nil, err
			}
		}
		r.Rounds++
		if c.Progress != nil {
			c.Progress(r.Rounds, c.Rounds)
		}
	}
	return r, nil
}

// prepare finds out how many operations each case has. The results have no round yet.
func (c Config) prepare(ctx context.Context) (*Results, error) {
	r := &Results{Cases: c.Cases}
	for _, arm := range c.Arms {
		r.Arms = append(r.Arms, arm.Name)
	}
	for _, cs := range c.Cases {
		n, err := c.operations(ctx, cs)
		if err != nil {
			return nil, err
		}
		for _, arm := range c.Arms {
			r.Cells = append(r.Cells, &Cell{Case: cs, Arm: arm.Name, Operations: n, Samples: map[string][]float64{}})
		}
	}
	return r, nil
}

// operations returns how many operations the first arm does in the time of a run.
func (c Config) operations(ctx context.Context, cs Case) (int, error) {
	const enoughToTell = 50
	n := enoughToTell * cs.Goroutines
	sample, err := c.run(ctx, c.Arms[0], cs, n)
	if err != nil {
		return 0, err
	}
	return max(n, int(float64(c.Run.Nanoseconds())/sample[Time])), nil
}

// pair measures one case with each arm. Every other round has the reverse order, and every second one begins with another
// arm, so that none is always the first, or always after the same.
func (c Config) pair(ctx context.Context, round int, cells []*Cell) error {
	for i := range cells {
		if round%2 == 1 {
			i = len(cells) - 1 - i
		}
		i = (i + round/2) % len(cells)
		sample, err := c.run(ctx, c.Arms[i], cells[i].Case, cells[i].Operations)
		if err != nil {
			return err
		}
		for unit, value := range sample {
			cells[i].Samples[unit] = append(cells[i].Samples[unit], value)
		}
	}
	return nil
}

func (c Config) run(ctx context.Context, arm Arm, cs Case, n int) (map[string]float64, error) {
	cmd := exec.CommandContext(ctx, arm.Program, "-uri", connstring.With(c.URI, arm.Options), "-workload", cs.Workload,
		"-goroutines", strconv.Itoa(cs.Goroutines), "-n", strconv.Itoa(n), "-database", c.Database)
	var output, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &messages
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("%s with %s: %w\n%s", cs, arm.Name, err, bytes.TrimSpace(messages.Bytes()))
	}
	return parseSample(output.Bytes())
}
