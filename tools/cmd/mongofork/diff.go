package main

import (
	"errors"
	"fmt"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/syntax"
)

type diffCmd struct {
	Paths    []string `arg:"" optional:"" name:"path" help:"Files, folders or declarations such as 'x/mongo/driver Operation.Execute'; default: all."`
	Stat     bool     `xor:"what" help:"Count the lines per file instead."`
	Upstream bool     `xor:"what" help:"Show upstream's declarations beside ours, regardless of the lock."`
}

func (c *diffCmd) Run(a *app) error {
	if c.Upstream {
		return c.declarations(a)
	}
	plan, assembly, err := a.project.Assemble(a.ctx)
	if err != nil {
		return err
	}
	only, err := c.files(plan)
	if err != nil {
		return err
	}
	for _, d := range filetree.Compare(assemble.Pristine(plan.Module).Tree, assembly.Tree) {
		switch {
		case !only(d.Path):
		case c.Stat:
			fmt.Fprintf(a.out, "%6s %6s  %s\n", fmt.Sprintf("+%d", d.Added), fmt.Sprintf("-%d", d.Removed), d.Path)
		default:
			fmt.Fprintf(a.out, "%s", d.Text)
		}
	}
	return nil
}

// declarations prints single declarations.
func (c *diffCmd) declarations(a *app) error {
	if len(c.Paths) == 0 {
		return errors.New("--upstream needs declarations, such as 'x/mongo/driver Operation.Execute'")
	}
	plan, err := a.project.Match(a.ctx)
	if err != nil {
		return err
	}
	for _, s := range c.Paths {
		key, err := syntax.ParseKey(s)
		if err != nil {
			return err
		}
		text, err := plan.CompareDecl(key)
		if err != nil {
			return err
		}
		fmt.Fprint(a.out, text)
	}
	return nil
}

// files returns a filter for the arguments: a path, a folder above it, or a declaration's key, which selects its file and ours.
func (c *diffCmd) files(plan *plan.Plan) (func(path string) bool, error) {
	var wanted []string
	for _, arg := range c.Paths {
		if !strings.ContainsAny(arg, " :") {
			wanted = append(wanted, strings.TrimSuffix(arg, "/"))
			continue
		}
		key, err := syntax.ParseKey(arg)
		if err != nil {
			return nil, err
		}
		files := plan.FilesOf(key)
		if len(files) == 0 {
			return nil, fmt.Errorf("%s is not touched by the overlay (the lock lists what is)", key)
		}
		wanted = append(wanted, files...)
	}
	return func(path string) bool {
		for _, w := range wanted {
			if path == w || strings.HasPrefix(path, w+"/") {
				return true
			}
		}
		return len(wanted) == 0
	}, nil
}
