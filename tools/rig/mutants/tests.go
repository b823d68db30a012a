package mutants

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mongofork/tools/rig/suite"
)

// Tests are tests of several folders of a tree. Cache is a folder for what is learned about them, Env their environment.
type Tests struct {
	Tree, Cache string
	Env         []string
	ByFolder    map[string][]string
	met         map[string]map[string]meeting // by folder and test
}

// meeting is how long a test takes, and which lines it runs, from one to another: of no file if it fails.
type meeting struct {
	Took  time.Duration
	Lines map[string][][2]int
}

func (t meeting) meets(m Mutant) bool {
	return slices.ContainsFunc(t.Lines[m.File], func(lines [2]int) bool { return lines[0] <= m.met && m.met <= lines[1] })
}

// Learn runs each test alone, two at a time, to learn which lines of a tree without mutants it runs. It names those that fail, which cannot
// judge.
func (t *Tests) Learn(ctx context.Context, out io.Writer) error {
	t.met = map[string]map[string]meeting{}
	if err := os.MkdirAll(t.Cache, 0o755); err != nil {
		return err
	}
	for folder, names := range t.ByFolder {
		binary := filepath.Join(t.Cache, "test")
		if err := t.compile(ctx, folder, binary, "-coverpkg="+suite.Module+"/..."); err != nil {
			return err
		}
		text, err := os.ReadFile(binary)
		if err != nil {
			return err
		}
		var all map[string]meeting
		known := filepath.Join(t.Cache, fmt.Sprintf("%x.json", sha256.Sum256(text)))
		if text, err = os.ReadFile(known); err != nil || json.Unmarshal(text, &all) != nil {
			all = t.meetings(ctx, folder, binary, names)
			text, err = json.Marshal(all)
			if err = errors.Join(err, ctx.Err()); err == nil {
				err = os.WriteFile(known, text, 0o644)
			}
		}
		if err != nil {
			return err
		}
		for name, m := range all {
			if m.Lines == nil {
				fmt.Fprintf(out, "fails alone, without a mutant: %s %s\n", folder, name)
			}
		}
		t.met[folder] = all
	}
	return nil
}

func (t *Tests) meetings(ctx context.Context, folder, binary string, names []string) map[string]meeting {
	all, mu, running := map[string]meeting{}, sync.Mutex{}, errgroup.Group{}
	running.SetLimit(2)
	for _, name := range names {
		running.Go(func() error {
			start, profile := time.Now(), filepath.Join(t.Cache, name+".profile")
			_, err := t.runTests(ctx, folder, binary, []string{name}, 5*time.Minute, "", "-test.coverprofile="+profile)
			one := meeting{Took: time.Since(start)}
			if text, readErr := os.ReadFile(profile); err == nil && readErr == nil {
				one.Lines = covered(string(text))
			}
			_ = os.Remove(profile)
			mu.Lock()
			defer mu.Unlock()
			all[name] = one
			return nil
		})
	}
	_ = running.Wait()
	return all
}

// covered returns the lines of a coverage profile that were run: "module/folder/file.go:1.2,3.4 5 1" says from 1 to 3.
func covered(profile string) map[string][][2]int {
	lines := map[string][][2]int{}
	for block := range strings.Lines(profile) {
		place, rest, is := strings.Cut(strings.TrimSuffix(block, " 1\n"), ".go:")
		if !is || !strings.HasSuffix(block, " 1\n") {
			continue
		}
		file := strings.TrimPrefix(place, suite.Module+"/") + ".go"
		from, to, _ := strings.Cut(rest, ",")
		begin, _ := strconv.Atoi(from[:strings.Index(from, ".")])
		end, _ := strconv.Atoi(to[:strings.Index(to, ".")])
		lines[file] = append(lines[file], [2]int{begin, end})
	}
	return lines
}

func (t *Tests) compile(ctx context.Context, folder, binary string, flags ...string) error {
	args := append([]string{"test", "-c", "-vet=off", "-o", binary}, flags...)
	if said, err := run(ctx, filepath.Join(t.Tree, folder), nil, "go", append(args, ".")...); err != nil {
		return fmt.Errorf("the tests of %s do not compile: %w: %s", folder, err, said)
	}
	return nil
}

// runTests runs some tests of a binary until one fails.
func (t *Tests) runTests(ctx context.Context, folder, binary string, names []string, limit time.Duration, mutant string,
	flags ...string,
) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	output, err := run(limited, filepath.Join(t.Tree, folder), append(slices.Clip(t.Env), Switch+"="+mutant), binary,
		append(flags, "-test.failfast", "-test.short", "-test.run=^("+strings.Join(names, "|")+")$")...)
	return output, cmp.Or(limited.Err(), err)
}

// group is the tests of a folder that meet a mutant.
type group struct {
	folder string
	names  []string
	took   time.Duration
}

// groups returns the tests that meet a mutant, those of the fastest folder first.
func (t *Tests) groups(m Mutant) (groups []group) {
	for folder, tests := range t.met {
		g := group{folder: folder}
		for name, one := range tests {
			if one.meets(m) {
				g.names, g.took = append(g.names, name), g.took+one.Took
			}
		}
		if g.names != nil {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.took, b.took) })
	return groups
}

// Judge returns a judge of the mutants that are now in the tree: the tests that meet a mutant, in the folder whose tests are the fastest first.
func (t *Tests) Judge(ctx context.Context, mutants []Mutant) (Judge, error) {
	binary := func(folder string) string {
		return filepath.Join(t.Tree, "mutants.bin", strings.ReplaceAll(folder, "/", "_"))
	}
	compiled := map[string]bool{}
	for _, m := range mutants {
		for _, g := range t.groups(m) {
			if compiled[g.folder] {
				continue
			}
			compiled[g.folder] = true
			if err := t.compile(ctx, g.folder, binary(g.folder)); err != nil {
				return nil, err
			}
		}
	}
	return func(ctx context.Context, m Mutant) (string, error) {
		for _, g := range t.groups(m) {
			said, err := t.runTests(ctx, g.folder, binary(g.folder), g.names, 20*time.Second+5*g.took, m.Name)
			var exit *exec.ExitError
			switch {
			case errors.Is(err, context.DeadlineExceeded):
				return TimedOut, nil
			case errors.As(err, &exit):
				return failed(said), nil
			}
		}
		return "", nil
	}, nil
}

// failed returns the name of the test that failed, or what the process said in the end.
func failed(output string) string {
	if _, name, is := strings.Cut(output, "--- FAIL: "); is {
		return strings.Fields(name)[0]
	}
	return strings.TrimSpace(output[max(0, len(output)-100):])
}
