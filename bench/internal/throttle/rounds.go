package throttle

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"mongofork/bench/internal/gobench"
)

// EmptyLoop is the benchmark of NoLimiter: what each of the others takes besides the limiter.
const (
	EmptyLoop = "EmptyLoop"
	NoLimiter = "none"
)

// The fork's bucket, where each method is called like those of the other limiters, and where it is compiled as in the fork.
const (
	Bucket  = "bucket"
	Inlined = "inlined"
)

// Row is a benchmark on a number of processors.
type Row struct {
	Benchmark  string `json:"benchmark"`
	Limiter    string `json:"limiter"`
	Processors int    `json:"processors"` // GOMAXPROCS, which may be more than there are
	// Samples is the time and the allocations of each round, by unit.
	Samples map[string][]float64 `json:"samples"`
}

// Measure runs the benchmarks of this package and of the bucket's own so many times, all of them in each round. The module is
// the folder of this one.
// Progress, unless nil, is called after each round.
func Measure(ctx context.Context, module string, rounds int, progress func(done, of int)) ([]*Row, error) {
	temp, err := os.MkdirTemp("", "bench-bucket-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	packages := []string{"mongofork/bench/internal/throttle", "mongofork/internal/retry"}
	for i, name := range packages {
		if _, err := output(ctx, module, "go", "test", "-c", "-o", program(temp, i), name); err != nil {
			return nil, err
		}
	}
	var rows table
	for round := range rounds {
		for i := range packages {
			text, err := output(ctx, temp, program(temp, i), "-test.run", "TestLinked", "-test.bench", ".", "-test.benchmem",
				"-test.benchtime", "50ms", "-test.cpu", "1,2,16")
			if err != nil {
				return nil, err
			}
			if err := rows.add(text); err != nil {
				return nil, err
			}
		}
		if progress != nil {
			progress(round+1, rounds)
		}
	}
	return rows, nil
}

// program is where the benchmarks of a package are built.
func program(folder string, i int) string { return filepath.Join(folder, strconv.Itoa(i)+".test") }

// output runs a command and returns what it prints. The error of one that failed has all of it.
func output(ctx context.Context, folder, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), args[0], err, bytes.TrimSpace(text))
	}
	return text, nil
}

// table is all rows, in the order of the output.
type table []*Row

// add adds the output of a round.
func (t *table) add(output []byte) error {
	results, err := gobench.Parse(output)
	if err != nil {
		return err
	}
	for _, result := range results {
		row, err := t.row(result.Name)
		if err != nil {
			return err
		}
		for unit, value := range result.Values {
			row.Samples[unit] = append(row.Samples[unit], value)
		}
	}
	return nil
}

// row finds or makes the row of a benchmark by its printed name, such as "ScarceTokens/bucket-16".
func (t *table) row(name string) (*Row, error) {
	parts := regexp.MustCompile(`^(\w+)/(\w+?)(?:-(\d+))?$`).FindStringSubmatch(name)
	if parts == nil {
		return nil, fmt.Errorf("unknown benchmark %q", name)
	}
	processors := 1 // which is not printed
	if parts[3] != "" {
		var err error
		if processors, err = strconv.Atoi(parts[3]); err != nil {
			return nil, err
		}
	}
	for _, row := range *t {
		if row.Benchmark == parts[1] && row.Limiter == parts[2] && row.Processors == processors {
			return row, nil
		}
	}
	row := &Row{Benchmark: parts[1], Limiter: parts[2], Processors: processors, Samples: map[string][]float64{}}
	*t = append(*t, row)
	return row, nil
}
