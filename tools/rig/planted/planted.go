// Package planted tests the tests: it plants defects into a copy of the built fork, switches on one after the other, and records which of
// them the comparison with upstream finds, and which the overlay's tests find.
package planted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mongofork/tools/rig/mutants"
)

// Table is the file of the defects, below the root of the repository.
const Table = mutants.Table

// Defect is a few lines of ours that are replaced by wrong ones.
type Defect struct {
	// Name says what is wrong.
	Name string
	// In is the package's folder. Exactly one of its files contains Text, once; Instead replaces it.
	In, Text, Instead string
	// Unseen says why no comparison with upstream can find the defect, and which test does.
	Unseen string
	// Parallel says that only goroutines on several processors meet the defect. The judge of that name looks for it, and no other.
	Parallel bool
}

// judgedBy reports whether a judge looks for the defect.
func (d Defect) judgedBy(judge string) bool { return judge == "parallel" == d.Parallel }

// Judge looks for a defect that is switched on in a tree, a folder below the root of the repository, and says what it found, if anything.
type Judge func(ctx context.Context, tree, defect string) (found string, err error)

// wanted is how many of 30 defects are enough.
const wanted = 28

// Run plants the named defects, or all, into a copy of a tree, builds that folder, and prints which judge finds each, by their names. It
// reports whether enough are found. If the copy does not compile, no judge has found anything. First the copy is judged without a defect:
// if anything is found then, Run refuses to go on, because what is found later would say nothing.
func Run(ctx context.Context, root, tree string, defects []Defect, only []string, build func(ctx context.Context, folder string) error,
	judges map[string]Judge, out io.Writer) (enough bool, err error) {
	const plot = "build/planted"
	folder := filepath.Join(root, plot)
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(filepath.Join(root, tree)))); err != nil {
		return false, err
	}
	defer os.RemoveAll(folder)
	if err := Plant(folder, defects); err != nil {
		return false, err
	}
	chosen := slices.DeleteFunc(slices.Clone(defects), func(d Defect) bool {
		return len(only) > 0 && !slices.Contains(only, d.Name)
	})
	if len(only) > len(chosen) {
		return false, fmt.Errorf("%d of these are not among the names that %s lists: %s", len(only)-len(chosen), Table,
			strings.Join(only, " "))
	}
	if err := build(ctx, folder); err != nil {
		return false, err
	}
	judges = maps.Clone(judges)
	maps.DeleteFunc(judges, func(name string, _ Judge) bool {
		return !slices.ContainsFunc(chosen, func(d Defect) bool { return d.judgedBy(name) })
	})
	switch by, err := judge(ctx, judges, plot, ""); {
	case err != nil:
		return false, fmt.Errorf("without a defect: %w", err)
	case len(by) > 0:
		return false, fmt.Errorf("without a defect there is a finding: %v", by)
	}
	found, judged := map[string]int{}, 0
	for _, d := range chosen {
		start := time.Now()
		its := maps.Clone(judges)
		maps.DeleteFunc(its, func(name string, _ Judge) bool { return !d.judgedBy(name) })
		if len(its) == 0 {
			continue
		}
		judged++
		by, err := judge(ctx, its, plot, d.Name)
		if err != nil {
			return false, fmt.Errorf("%s: %w", d.Name, err)
		}
		var said []string
		for _, name := range slices.Sorted(maps.Keys(by)) {
			said = append(said, name+": "+by[name])
			found[name]++
		}
		if said == nil {
			said = []string{"nothing"}
			found["none"]++
		}
		if by["compare"] == "" && !d.Parallel && d.Unseen != "" {
			said = append(said, "not for compare: "+d.Unseen)
		}
		fmt.Fprintf(out, "%-60s %s (%v)\n", d.Name, strings.Join(said, "; "), time.Since(start).Round(time.Second))
	}
	fmt.Fprintf(out, "%d defects:", judged)
	for _, name := range slices.Sorted(maps.Keys(judges)) {
		fmt.Fprintf(out, " %d found by %s,", found[name], name)
	}
	fmt.Fprintf(out, " %d by none; %d of 30 are enough\n", found["none"], wanted)
	return (judged-found["none"])*30 >= judged*wanted, nil
}

// judge returns what the judges found, by their names.
func judge(ctx context.Context, judges map[string]Judge, tree, defect string) (by map[string]string, err error) {
	by = map[string]string{}
	for name, judge := range judges {
		found, judgeErr := judge(ctx, tree, defect)
		if err = errors.Join(err, judgeErr); found != "" {
			by[name] = found
		}
	}
	return by, err
}

// Switch is the environment variable that has the name of the defect that is on.
const Switch = mutants.Switch

// Plant plants defects into a tree, as mutants with names. So the tree is built once for all of them.
func Plant(tree string, defects []Defect) error {
	var named []mutants.Defect
	for _, d := range defects {
		named = append(named, mutants.Defect{Name: d.Name, In: d.In, Text: d.Text, Instead: d.Instead})
	}
	all, err := mutants.Named(tree, named)
	if err != nil {
		return err
	}
	return mutants.Write(tree, all)
}
