package mutants

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Judge looks for a mutant that is switched on, and says what has noticed it, if anything.
type Judge func(context.Context, Mutant) (noticed string, err error)

// TimedOut is what a judge says if it did not end.
const TimedOut = "timed out"

// Run lets judges look for each mutant, so many at a time, the next one if those before have not noticed it, and prints what survives, or
// all if it is verbose. It returns the share that was noticed, without those that timed out.
func Run(ctx context.Context, mutants []Mutant, names []string, judges map[string]Judge, atATime int, verbose bool, out io.Writer) (
	float64, error,
) {
	by, counts, mu, running := map[string]string{}, map[string]int{}, sync.Mutex{}, errgroup.Group{}
	running.SetLimit(atATime)
	for _, m := range mutants {
		running.Go(func() error {
			for _, name := range names {
				noticed, err := judges[name](ctx, m)
				if err != nil {
					return fmt.Errorf("%v: %s: %w", m, name, err)
				}
				if noticed == "" {
					continue
				}
				mu.Lock()
				defer mu.Unlock()
				if by[m.Name] = name + ": " + noticed; noticed == TimedOut {
					name = TimedOut
				}
				counts[name]++
				return nil
			}
			return ctx.Err()
		})
	}
	if err := running.Wait(); err != nil {
		return 0, err
	}
	slices.SortFunc(mutants, func(a, b Mutant) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
	survived := 0
	for _, m := range mutants {
		if by[m.Name] == "" {
			survived++
		}
		if verbose || by[m.Name] == "" {
			fmt.Fprintf(out, "%s: %v\n", cmp.Or(by[m.Name], "survived"), m)
		}
	}
	share := 1 - float64(survived)/float64(max(1, len(mutants)-counts[TimedOut]))
	fmt.Fprintf(out, "%d mutants:", len(mutants))
	for _, name := range append(slices.Clip(names), TimedOut) {
		fmt.Fprintf(out, " %s %d,", name, counts[name])
	}
	fmt.Fprintf(out, " survived %d; without those that timed out %.1f %% are noticed\n", survived, 100*share)
	return share, nil
}
