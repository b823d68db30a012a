// Package planted judges the instruments: it plants defects into copies of the built fork, one by one, and sees which of them the
// comparison with upstream finds, and which the overlay's tests do.
package planted

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// Table is the file of the defects, below the root of the repository.
const Table = "etc/planted.yaml"

// Defect is a few lines of ours that are replaced by wrong ones.
type Defect struct {
	// Name says what is wrong.
	Name string
	// In is the package's folder. One of its files has Text, once, which Instead replaces.
	In, Text, Instead string
}

// Read reads a table.
func Read(file string) ([]Defect, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var defects []Defect
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&defects); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return defects, nil
}

// Find returns the file with the defect's text, and that file with the defect.
func (d Defect) Find(tree string) (file string, planted []byte, err error) {
	names, err := filepath.Glob(filepath.Join(tree, filepath.FromSlash(d.In), "*.go"))
	if err != nil {
		return "", nil, err
	}
	found := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return "", nil, err
		}
		if n := bytes.Count(data, []byte(d.Text)); n > 0 {
			found += n
			file, planted = name, bytes.Replace(data, []byte(d.Text), []byte(d.Instead), 1)
		}
	}
	if found != 1 {
		return "", nil, fmt.Errorf("%s: the entry %q is out of date: the files of %s have its text %d times; mend it there", Table,
			d.Name, d.In, found)
	}
	return file, planted, nil
}

// Judges finds defects. A tree is a folder below the root of the repository.
type Judges struct {
	Root string
	// Compare returns the first seed of which the comparison has a finding in the tree, or nothing.
	Compare func(ctx context.Context, tree string) (seed string, err error)
	// Test returns the names of the overlay's tests that fail in it.
	Test func(ctx context.Context, tree string) ([]string, error)
}

// Run plants the defects that are named, or all, into copies of a tree, and prints what finds each. It reports whether enough are
// found: 28 of 30.
func (j *Judges) Run(ctx context.Context, tree string, defects []Defect, only []string, out io.Writer) (enough bool, err error) {
	var wrong []error
	var chosen []Defect
	for _, d := range defects {
		_, _, err := d.Find(filepath.Join(j.Root, filepath.FromSlash(tree)))
		wrong = append(wrong, err)
		if slices.Contains(only, d.Name) {
			chosen = append(chosen, d)
		}
	}
	if len(only) == 0 {
		chosen = defects
	} else if len(chosen) < len(only) {
		wrong = append(wrong, fmt.Errorf("%s has %d of %d: %s", Table, len(chosen), len(only), strings.Join(only, " ")))
	}
	if err := errors.Join(wrong...); err != nil {
		return false, err
	}
	var compared, tested, neither int
	for _, d := range chosen {
		start := time.Now()
		seed, failed, err := j.judge(ctx, tree, d)
		if err != nil {
			return false, fmt.Errorf("%s: %w", d.Name, err)
		}
		by := "nothing"
		switch {
		case seed != "" && len(failed) > 0:
			by = "compare, seed " + seed + "; " + tell(failed)
		case seed != "":
			by = "compare, seed " + seed
		case len(failed) > 0:
			by = tell(failed)
		default:
			neither++
		}
		if seed != "" {
			compared++
		}
		if len(failed) > 0 {
			tested++
		}
		fmt.Fprintf(out, "%-60s %s (%v)\n", d.Name, by, time.Since(start).Round(time.Second))
	}
	fmt.Fprintf(out, "%d defects: %d found by compare, %d by tests, %d by neither\n", len(chosen), compared, tested, neither)
	return (len(chosen)-neither)*30 >= len(chosen)*28, nil
}

// tell names tests, if they are few.
func tell(failed []string) string {
	if rest := len(failed) - 2; rest > 0 {
		return fmt.Sprintf("tests %s and %d more", strings.Join(failed[:2], ", "), rest)
	}
	return "tests " + strings.Join(failed, ", ")
}

// judge plants a defect into a copy of the tree, and asks both judges side by side.
func (j *Judges) judge(ctx context.Context, tree string, d Defect) (seed string, failed []string, err error) {
	const plot = "build/planted"
	folder := filepath.Join(j.Root, filepath.FromSlash(plot))
	if err := errors.Join(os.RemoveAll(folder), os.CopyFS(folder, os.DirFS(filepath.Join(j.Root, filepath.FromSlash(tree))))); err !=
		nil {
		return "", nil, err
	}
	defer os.RemoveAll(folder)
	file, planted, err := d.Find(folder)
	if err == nil {
		err = os.WriteFile(file, planted, 0o600)
	}
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var compareErr, testErr error
	var judges sync.WaitGroup
	judges.Go(func() {
		// If it does not compile, no test has found it.
		if seed, compareErr = j.Compare(ctx, plot); compareErr != nil {
			cancel()
		}
	})
	judges.Go(func() { failed, testErr = j.Test(ctx, plot) })
	judges.Wait()
	return seed, failed, errors.Join(compareErr, testErr)
}

var finding = regexp.MustCompile(`(?m)^seed (\d+): `)

// Seed returns the seed of the first finding in the output of a comparison that has failed.
func Seed(output []byte, err error) (string, error) {
	if err == nil {
		return "", nil
	}
	if match := finding.FindSubmatch(output); match != nil {
		return string(match[1]), nil
	}
	return "", err
}
