package mutants

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mongofork/tools/process"
)

// Switch is the environment variable that switches on a mutant. The names of all that a process meets go into the file that meets names.
const Switch, meets = "PLANTED", "PLANTED_MEETS"

const switchFile = `package %s

import (
	"os"
	"sync"
)

var (
	mutantOn    = os.Getenv(%q)
	mutantsFile = os.Getenv(%q)
	mutantsMu   sync.Mutex
	mutantsMet  = map[string]bool{}
)

func mutantIs(name string) bool {
	if mutantsFile != "" {
		mutantsMu.Lock()
		defer mutantsMu.Unlock()
		if !mutantsMet[name] {
			mutantsMet[name] = true
			file, err := os.OpenFile(mutantsFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				panic(err)
			}
			_, _ = file.WriteString(name + "\n")
			_ = file.Close()
		}
	}
	return name == mutantOn
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
		output, err := run(ctx, tree, nil, "go", "build", "-gcflags=-e", "./...")
		wrong := complaints(tree, output)
		switch {
		case err == nil:
			return mutants, nil
		case len(wrong) == 0:
			return nil, fmt.Errorf("the tree does not compile: %w: %s", err, output)
		}
		mutants = slices.DeleteFunc(mutants, func(m Mutant) bool { return wrong[m.Name] })
	}
}

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
		guard := filepath.Join(filepath.Dir(place), "mutant_switch.go")
		if err := os.WriteFile(place, text, 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(guard, fmt.Appendf(nil, switchFile, name, Switch, meets), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var (
	place  = regexp.MustCompile(`(?m)^(\S+\.go):(\d+)(?::\d+)?: `)
	marker = regexp.MustCompile(`if mutantIs\("([^"]+)"\)`)
)

// complaints returns the names of the mutants that the compiler complains about.
func complaints(tree, output string) map[string]bool {
	wrong := map[string]bool{}
	for _, found := range place.FindAllStringSubmatch(output, -1) {
		text, err := os.ReadFile(filepath.Join(tree, found[1]))
		if err != nil {
			continue
		}
		line, _ := strconv.Atoi(found[2])
		before := strings.Join(strings.SplitAfter(string(text), "\n")[:line], "")
		if all := marker.FindAllStringSubmatch(before, -1); all != nil {
			wrong[all[len(all)-1][1]] = true
		}
	}
	return wrong
}

// run runs a command in a folder, and returns its output.
func run(ctx context.Context, folder string, env []string, name string, args ...string) (string, error) {
	cmd := process.Command(ctx, folder, slices.Concat(os.Environ(), []string{"GOWORK=off"}, env), name, args...)
	defer process.Reap(cmd)
	output, err := cmd.CombinedOutput()
	return string(output), err
}
