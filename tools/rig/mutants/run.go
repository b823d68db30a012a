package mutants

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/process"
)

// Binary is a compiled test binary, and those of its tests that look for mutants.
type Binary struct {
	Path, Folder string
	Tests        []string
	Env          []string
}

// test is a test function that passes without a mutant.
type test struct {
	*Binary
	name  string
	took  time.Duration
	meets map[string]bool // mutants, by name
}

// Jury judges mutants by tests, two at a time.
type Jury struct{ tests []test }

// Summon runs each test alone, to learn how long it takes and what it reaches. It leaves out what fails without a mutant.
func Summon(ctx context.Context, binaries []Binary, out io.Writer) (*Jury, error) {
	var jury Jury
	var mu sync.Mutex
	var running errgroup.Group
	running.SetLimit(2)
	for i := range binaries {
		for _, name := range binaries[i].Tests {
			running.Go(func() error {
				one, err := summon(ctx, &binaries[i], name)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					fmt.Fprintf(out, "left out, as it fails alone without a mutant: %s %s: %v\n", binaries[i].Path, name, err)
				case len(one.meets) > 0:
					jury.tests = append(jury.tests, one)
				}
				return ctx.Err()
			})
		}
	}
	err := running.Wait()
	slices.SortFunc(jury.tests, func(a, b test) int { return cmp.Or(cmp.Compare(a.took, b.took), cmp.Compare(a.name, b.name)) })
	return &jury, err
}

func summon(ctx context.Context, in *Binary, name string) (test, error) {
	file, err := os.CreateTemp("", "reached")
	if err != nil {
		return test{}, err
	}
	defer os.Remove(file.Name())
	start := time.Now()
	if err := errors.Join(file.Close(), in.run(ctx, []string{name}, 5*time.Minute, reached+"="+file.Name())); err != nil {
		return test{}, err
	}
	one := test{in, name, time.Since(start), map[string]bool{}}
	text, err := os.ReadFile(file.Name())
	for mutant := range strings.Lines(string(text)) {
		one.meets[strings.TrimSpace(mutant)] = true
	}
	return one, err
}

// run runs some tests of a binary until one fails.
func (b *Binary) run(ctx context.Context, names []string, limit time.Duration, env ...string) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := process.Command(limited, b.Folder, slices.Concat(os.Environ(), b.Env, env), b.Path, "-test.failfast", "-test.short",
		"-test.run=^("+strings.Join(names, "|")+")$")
	defer process.Reap(cmd)
	output, err := cmd.CombinedOutput()
	if limited.Err() != nil {
		return context.DeadlineExceeded
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// Verdict is what became of a mutant.
type Verdict string

// The verdicts.
const (
	Noticed   Verdict = "noticed"
	TimedOut  Verdict = "timed out"
	Survived  Verdict = "survived"
	Unreached Verdict = "reached by no test"
)

// Judge returns the verdict of each mutant.
func (j *Jury) Judge(ctx context.Context, mutants []Mutant) (map[string]Verdict, error) {
	verdicts := map[string]Verdict{}
	var mu sync.Mutex
	var running errgroup.Group
	running.SetLimit(2)
	for _, m := range mutants {
		running.Go(func() error {
			verdict := j.judge(ctx, m)
			mu.Lock()
			defer mu.Unlock()
			verdicts[m.Name] = verdict
			return ctx.Err()
		})
	}
	return verdicts, running.Wait()
}

// judge runs the tests that reach a mutant, the fastest binary first.
func (j *Jury) judge(ctx context.Context, m Mutant) Verdict {
	verdict := Unreached
	names, took := map[*Binary][]string{}, map[*Binary]time.Duration{}
	for _, t := range j.tests {
		if t.meets[m.Name] {
			names[t.Binary] = append(names[t.Binary], t.name)
			took[t.Binary] += t.took
			verdict = Survived
		}
	}
	fastest := func(a, b *Binary) int { return cmp.Compare(took[a], took[b]) }
	for _, binary := range slices.SortedFunc(maps.Keys(names), fastest) {
		err := binary.run(ctx, names[binary], 20*time.Second+5*took[binary], Switch+"="+m.Name)
		var exit *exec.ExitError
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return TimedOut
		case errors.As(err, &exit):
			return Noticed
		}
	}
	return verdict
}

// Report prints what survived, by place, and the sums by folder. It returns the share of the mutants that were noticed, time-outs apart.
func Report(out io.Writer, mutants []Mutant, verdicts map[string]Verdict) float64 {
	sums, all := map[string]map[Verdict]int{}, map[Verdict]int{}
	for _, m := range slices.SortedFunc(slices.Values(mutants), func(a, b Mutant) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line)
	}) {
		verdict, folder := verdicts[m.Name], filepath.Dir(m.File)
		if sums[folder] == nil {
			sums[folder] = map[Verdict]int{}
		}
		sums[folder][verdict]++
		all[verdict]++
		if verdict == Survived || verdict == Unreached {
			fmt.Fprintf(out, "%s: %v\n", verdict, m)
		}
	}
	sums["all"] = all
	for _, folder := range slices.Sorted(maps.Keys(sums)) {
		s := sums[folder]
		fmt.Fprintf(out, "%-40s noticed %3d, timed out %3d, survived %3d, reached by no test %3d\n", folder, s[Noticed], s[TimedOut],
			s[Survived], s[Unreached])
	}
	return float64(all[Noticed]) / float64(max(1, len(mutants)-all[TimedOut]))
}
