package main

import (
	"context"
	"errors"
	"fmt"

	"mongofork/tools/command"
	"mongofork/tools/fork"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/upstream"
)

// builder writes the driver's trees below the folder build of the repository.
type builder struct {
	root   string
	source upstream.Source
}

func newBuilder(root string) builder { return builder{root, upstream.ModuleCache{Run: command.Output}} }

// Build implements suite.Builder.
func (b builder) Build(ctx context.Context, base string) (overlay []string, err error) {
	project := b.project(base)
	if err := project.RefuseOpen(); err != nil {
		return nil, err
	}
	plan, forked, err := project.Assemble(ctx)
	if err != nil {
		return nil, fmt.Errorf("build the fork of %s: %w", base, err)
	}
	pristine, err := project.Pristine(ctx)
	if err != nil {
		return nil, err
	}
	for _, file := range plan.Overlay.Files {
		// A file of nothing but directives leaves none.
		if _, found := forked.Tree[file.Path]; found {
			overlay = append(overlay, file.Path)
		}
	}
	_, err = output.Below(b.root, base).Write(forked.Tree, false)
	_, pristineErr := output.Below(b.root, "pristine", base).Write(pristine.Tree, false)
	return overlay, errors.Join(err, pristineErr)
}

// Link implements suite.Builder.
func (b builder) Link(base string) error { return output.Below(b.root, base).Link() }

// Verify implements suite.Builder.
func (b builder) Verify(ctx context.Context, base string) error {
	_, err := b.project(base).Verify(ctx)
	return err
}

func (b builder) project(base string) *fork.Project {
	return &fork.Project{Root: b.root, Base: base, Source: b.source}
}
