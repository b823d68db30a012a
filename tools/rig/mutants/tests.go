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
)

// Tests are tests of several folders of a tree in which mutants are planted. Env is their environment.
type Tests struct {
	Tree     string
	Env      []string
	ByFolder map[string][]string

	mu  sync.Mutex
	met map[string]map[group]*selection // by mutant
}

// group is the tests of a folder that are quick (0), or slower (1).
type group struct {
	slower int
	folder string
}

// quick is what a quick test takes at most, its process with it.
const quick = 300 * time.Millisecond

// selection is the tests of a group that meet a mutant, and the time that they take.
type selection struct {
	names []string
	took  time.Duration
}

func (t *Tests) binary(folder string) string {
	return filepath.Join(t.Tree, "mutants.bin", strings.ReplaceAll(folder, "/", "_"))
}

// Learn runs each test alone, two at a time, to learn which mutants it meets. It names those that fail, which cannot judge.
func (t *Tests) Learn(ctx context.Context, out io.Writer) error {
	t.met = map[string]map[group]*selection{}
	for folder, names := range t.ByFolder {
		said, err := run(ctx, filepath.Join(t.Tree, folder), nil, "go", "test", "-c", "-vet=off", "-o", t.binary(folder), ".")
		if err != nil {
			return fmt.Errorf("the tests of %s do not compile: %w: %s", folder, err, said)
		}
		running := errgroup.Group{}
		running.SetLimit(2)
		for _, name := range names {
			running.Go(func() error { return t.learn(ctx, folder, name, out) })
		}
		if err := errors.Join(running.Wait(), ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// learn notes which mutants a test meets.
func (t *Tests) learn(ctx context.Context, folder, name string, out io.Writer) error {
	start, file := time.Now(), t.binary(folder)+"."+name
	_, failure := t.run(ctx, folder, []string{name}, 5*time.Minute, meets+"="+file)
	took := time.Since(start)
	text, err := os.ReadFile(file)
	t.mu.Lock()
	defer t.mu.Unlock()
	if failure != nil {
		_, err = fmt.Fprintf(out, "fails alone, without a mutant: %s %s\n", folder, name)
		return err
	}
	if errors.Is(err, os.ErrNotExist) { // it meets none
		return nil
	}
	g := group{0, folder}
	if took > quick {
		g.slower = 1
	}
	for mutant := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		if t.met[mutant] == nil {
			t.met[mutant] = map[group]*selection{}
		}
		if t.met[mutant][g] == nil {
			t.met[mutant][g] = &selection{}
		}
		all := t.met[mutant][g]
		all.names, all.took = append(all.names, name), all.took+took
	}
	return err
}

// run runs some tests of a folder until one fails.
func (t *Tests) run(ctx context.Context, folder string, names []string, limit time.Duration, env string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	output, err := run(limited, filepath.Join(t.Tree, folder), append(slices.Clip(t.Env), env), t.binary(folder), "-test.failfast",
		"-test.short", "-test.run=^("+strings.Join(names, "|")+")$")
	return output, cmp.Or(limited.Err(), err)
}

// Judge is a Judge: the tests that meet a mutant, quick ones first.
func (t *Tests) Judge(ctx context.Context, m Mutant) (string, error) {
	groups := slices.SortedFunc(maps.Keys(t.met[m.Name]), func(a, b group) int {
		return cmp.Or(a.slower-b.slower, strings.Compare(a.folder, b.folder))
	})
	for _, g := range groups {
		all := t.met[m.Name][g]
		said, err := t.run(ctx, g.folder, all.names, 20*time.Second+5*all.took, Switch+"="+m.Name)
		var exit *exec.ExitError
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return TimedOut, nil
		case errors.As(err, &exit):
			return failed(said), nil
		case err != nil:
			return "", err
		}
	}
	return "", nil
}

// failed returns the name of the test that failed, or what the process said in the end.
func failed(output string) string {
	if _, name, is := strings.Cut(output, "--- FAIL: "); is {
		return strings.Fields(name)[0]
	}
	return strings.TrimSpace(output[max(0, len(output)-100):])
}
