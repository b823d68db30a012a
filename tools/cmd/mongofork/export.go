package main

import (
	"fmt"
	"os"
	"path/filepath"

	"mongofork/tools/fork/output"
)

type extractCmd struct {
	Output string `short:"o" placeholder:"DIR" help:"Read the output in this folder instead of build/<base>."`
	DryRun bool   `short:"n" help:"Show the changes to the overlay without making them."`
}

func (c *extractCmd) Run(a *app) error {
	list, err := a.project.Extract(a.ctx, a.output(c.Output), c.DryRun)
	if err != nil {
		return err
	}
	for _, e := range list {
		if c.DryRun {
			fmt.Fprintf(a.out, "%s", e.Diff)
		} else {
			fmt.Fprintf(a.out, "%s: changed\n", e.File)
		}
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "no edit to extract")
	}
	return nil
}

type patchCmd struct {
	Output  string `short:"o" placeholder:"FILE" help:"Write to this file instead of the standard output."`
	Subject string `default:"Client backpressure" help:"First line of the commit message."`
	authored
	allowOpen
}

func (c *patchCmd) Run(a *app) error {
	if err := a.project.RefuseOpen(c.AllowOpen, true); err != nil {
		return err
	}
	text, err := a.project.Patch(a.ctx, a.run, output.PatchOptions{Subject: c.Subject, Author: c.of(a)})
	if err != nil {
		return err
	}
	if c.Output == "" {
		_, err = a.out.Write(text)
		return err
	}
	if err := os.WriteFile(c.Output, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s: written; apply it with: git am %s\n", c.Output, c.Output)
	return nil
}

type releaseCmd struct {
	Output  string `short:"o" placeholder:"DIR" help:"Write to this folder instead of build/release."`
	Version string `placeholder:"VERSION" help:"The release's version (default: the fork's own, <base>-<version.Fork>)."`
	allowOpen
}

func (c *releaseCmd) Run(a *app) error {
	version, dir := c.Version, c.Output
	if dir == "" {
		dir = filepath.Join(a.project.Root, "build", "release")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if version == "" {
		if version, err = a.project.ReleaseVersion(a.ctx); err != nil {
			return err
		}
	}
	if err := a.project.RefuseOpen(c.AllowOpen, true); err != nil {
		return err
	}
	r, err := a.project.Release(a.ctx, dir, version)
	if err != nil {
		return err
	}
	for _, name := range r.Files {
		fmt.Fprintln(a.out, name)
	}
	fmt.Fprintf(a.out, "go.sum: %s %s %s\n\nTo use it, with GOPROXY=file://%s,... and GONOSUMDB=%s,mongofork.internal (or: mongofork use --release DIR):\n\n\treplace %s %s => %s %s\n",
		r.Path, r.Version, r.Sum, filepath.ToSlash(dir), r.Path, r.Path, a.project.Base, r.Path, r.Version)
	return nil
}
