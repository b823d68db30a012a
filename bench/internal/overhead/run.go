package overhead

import (
	"context"
	"errors"
	"time"
)

// Arm is a program that does the operations with one driver and its options.
type Arm struct {
	Name    string
	Program string
	Options string // of the connection string, such as "adaptiveRetries=true"
}

// Config says what to measure.
type Config struct {
	Arms  []Arm // the others are compared with the first
	Cases []Case
	URI   string // of the server
	// Database is where the operations find what workload.Fill inserts.
	Database string
	Rounds   int
	// Run is how long the operations of a case are to take in a round with each arm, Slices in how many parts.
	Run    time.Duration
	Slices int
	// Limit is the time after which no further round is begun; zero sets none.
	Limit time.Duration
	Now   func() time.Time
	// Progress, unless nil, is called after each round.
	Progress func(done, of int)
}

// Results are the measurements, with a cell for each case and arm.
type Results struct {
	Rounds int      `json:"rounds"`
	Slices int      `json:"slices"` // of each round
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
			if err := c.round(ctx, r.Rounds, r.Cells[i*len(c.Arms):][:len(c.Arms)]); err != nil {
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
	r := &Results{Slices: c.Slices, Cases: c.Cases}
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

// operations returns how many operations the first arm does in the time of a run, as a multiple of the slices.
func (c Config) operations(ctx context.Context, cs Case) (int, error) {
	const enoughToTell = 10 // for each goroutine
	n := enoughToTell * cs.Goroutines
	p, err := c.start(ctx, c.Arms[0], cs)
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.close() }()
	if _, err := p.measure(ctx, n); err != nil { // which has more to set up
		return 0, err
	}
	sample, err := p.measure(ctx, n)
	if err != nil {
		return 0, err
	}
	n = max(n, int(float64(c.Run.Nanoseconds())/sample[Time]))
	return max(n/c.Slices, cs.Goroutines) * c.Slices, nil
}

// round measures one case with each arm. The arms have separate processes at the same time, and take turns in slices so brief
// that other load on the machine affects all alike.
func (c Config) round(ctx context.Context, round int, cells []*Cell) (err error) {
	n := cells[0].Operations / c.Slices
	processes := make([]*process, len(cells))
	for turn := range cells {
		i := turnOf(turn, round, len(cells))
		if processes[i], err = c.start(ctx, c.Arms[i], cells[i].Case); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, processes[i].close()) }()
		// Connections and other one-time set-up are not part of an operation's cost.
		if _, err := processes[i].measure(ctx, n); err != nil {
			return err
		}
	}
	sums := make([]map[string]float64, len(cells))
	for slice := range c.Slices {
		for turn := range cells {
			i := turnOf(turn, round*c.Slices+slice, len(cells))
			sample, err := processes[i].measure(ctx, n)
			if err != nil {
				return err
			}
			sums[i] = add(sums[i], sample)
		}
	}
	for i, sum := range sums {
		for unit, value := range sum {
			cells[i].Samples[unit] = append(cells[i].Samples[unit], value/float64(c.Slices))
		}
	}
	return nil
}

// turnOf returns whose turn it is. Every other time has the reverse order, and every second one begins with another arm, so
// that none is always the first, or always after the same.
func turnOf(turn, time, arms int) int {
	if time%2 == 1 {
		turn = arms - 1 - turn
	}
	return (turn + time/2) % arms
}

func add(sum, sample map[string]float64) map[string]float64 {
	if sum == nil {
		sum = map[string]float64{}
	}
	for unit, value := range sample {
		sum[unit] += value
	}
	return sum
}
