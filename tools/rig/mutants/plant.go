package mutants

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mongofork/tools/process"
)

// Switch and reached are the environment variables that switch on a mutant, and that name the file to which a process adds the mutants that it reaches.
const Switch, reached = "PLANTED", "MUTANTS_REACHED"

const switchFile = `package %s

import (
	"os"
	"sync"
)

var (
	mutantOn       = os.Getenv(%q)
	mutantsReached = os.Getenv(%q)
	mutantsSeen    sync.Map
)

func mutantIs(name string) bool {
	if mutantsReached == "" {
		return name == mutantOn
	}
	if _, seen := mutantsSeen.LoadOrStore(name, true); !seen {
		if file, err := os.OpenFile(mutantsReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			_, _ = file.WriteString(name + "\n")
			_ = file.Close()
		}
	}
	return false
}
`

// Plant writes mutants into a tree, each into a copy of its function's body, which runs instead of the original when it is switched on. So
// the tree is compiled once for all of them. It returns those that compile.
func Plant(ctx context.Context, tree string, mutants []Mutant) ([]Mutant, error) {
	original := map[string][]byte{}
	for {
		if err := write(tree, mutants, original); err != nil {
			return nil, err
		}
		wrong, output, err := compile(ctx, tree)
		if err == nil {
			return mutants, nil
		}
		if len(wrong) == 0 {
			return nil, fmt.Errorf("the tree does not compile: %w: %s", err, output)
		}
		mutants = slices.DeleteFunc(mutants, func(m Mutant) bool { return slices.Contains(wrong, m.Name) })
	}
}

// Write writes mutants into a tree that has none.
func Write(tree string, mutants []Mutant) error { return write(tree, mutants, map[string][]byte{}) }

// write writes the files with mutants.
func write(tree string, mutants []Mutant, original map[string][]byte) error {
	for _, m := range mutants {
		if original[m.File] == nil {
			text, err := os.ReadFile(filepath.Join(tree, m.File))
			if err != nil {
				return err
			}
			original[m.File] = text
		}
	}
	for file, text := range original {
		in := slices.DeleteFunc(slices.Clone(mutants), func(m Mutant) bool { return m.File != file })
		slices.SortStableFunc(in, func(a, b Mutant) int { return b.body - a.body }) // so that other offsets stay right
		name := regexp.MustCompile(`(?m)^package (\w+)`).FindSubmatch(text)[1]
		for _, m := range in {
			text = slices.Insert(slices.Clone(text), m.body+1, fmt.Appendf(nil, "\n\tif mutantIs(%q) %s\n", m.Name, m.wrong)...)
		}
		place := filepath.Join(tree, file)
		if err := os.Remove(place); err != nil { // it may be a link to the overlay's
			return err
		}
		if err := os.WriteFile(place, text, 0o644); err != nil {
			return err
		}
		guard := filepath.Join(filepath.Dir(place), "mutant_switch.go")
		if err := os.WriteFile(guard, fmt.Appendf(nil, switchFile, name, Switch, reached), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var (
	place  = regexp.MustCompile(`(?m)^(\S+\.go):(\d+)(?::\d+)?: `)
	marker = regexp.MustCompile(`if mutantIs\("([^"]+)"\)`)
)

// compile compiles a tree, and returns the names of the mutants that the compiler complains about.
func compile(ctx context.Context, tree string) (wrong []string, output string, err error) {
	cmd := process.Command(ctx, tree, append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath"), "go", "build", "-gcflags=-e", "./...")
	defer process.Reap(cmd)
	said, err := cmd.CombinedOutput()
	for _, found := range place.FindAllSubmatch(said, -1) {
		text, readErr := os.ReadFile(filepath.Join(tree, path.Clean(string(found[1]))))
		if readErr != nil {
			continue
		}
		line, _ := strconv.Atoi(string(found[2]))
		before := strings.Join(strings.SplitAfter(string(text), "\n")[:line], "")
		if all := marker.FindAllStringSubmatch(before, -1); all != nil {
			wrong = append(wrong, all[len(all)-1][1])
		}
	}
	return wrong, string(said), err
}

// CompileTests compiles the tests of a folder.
func CompileTests(ctx context.Context, folder, binary string) error {
	cmd := process.Command(ctx, folder, append(os.Environ(), "GOWORK=off"), "go", "test", "-c", "-vet=off", "-o", binary, ".")
	defer process.Reap(cmd)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the tests of %s do not compile: %w: %s", folder, err, said)
	}
	return nil
}
