package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"mongofork/tools/fork/git"
	"mongofork/tools/fork/output"
	"mongofork/tools/fork/series"
)

// author is who git is configured for, or else the builder.
func (a *app) author() string {
	value := func(key string) string {
		out, err := a.run(a.ctx, a.project.Root, nil, "git", "config", "--get", key)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	name, address := value("user.name"), value("user.email")
	if name == "" || address == "" {
		return git.Builder
	}
	return fmt.Sprintf("%s <%s>", name, address)
}

type patchCmd struct {
	Subject string `default:"Client backpressure" help:"First line of the commit message."`
}

func (c *patchCmd) Run(a *app) error {
	if err := a.project.RefuseOpen(); err != nil {
		return err
	}
	text, err := a.project.Patch(a.ctx, a.run, output.PatchOptions{Subject: c.Subject, Author: a.author()})
	if err != nil {
		return err
	}
	_, err = a.out.Write(text)
	return err
}

type seriesCmd struct {
	Output string `short:"o" placeholder:"DIR" help:"Write to this folder instead of build/series/<base>."`
	Goal   string `placeholder:"DIR" help:"Write the tree that the series has to lead to, too: the fork, except for what it leaves out."`
}

func (c *seriesCmd) Run(a *app) error {
	if err := a.project.RefuseOpen(); err != nil {
		return err
	}
	plan, err := a.project.Plan(a.ctx)
	if err != nil {
		return err
	}
	steps, err := series.New(a.project.Root, plan)
	if err != nil {
		return err
	}
	patches, _, err := steps.Patches(a.ctx, a.run, a.author())
	if err != nil {
		return err
	}
	if c.Goal != "" {
		goal, err := steps.Goal()
		if err := errors.Join(err, goal.Write(c.Goal)); err != nil {
			return err
		}
	}
	out := a.folder(c.Output, "series", a.project.Base)
	if err := series.Write(out.Dir, patches); err != nil {
		return err
	}
	for _, p := range patches[1:] {
		fmt.Fprintf(a.out, "%s/%s\n", out.Label, p.Name)
	}
	fmt.Fprintf(a.out, "%s: %d patches and a cover letter; apply them with: git am --empty=drop %s/*.patch\n", out.Label, len(patches)-1, out.Label)
	return nil
}

type releaseCmd struct {
	Output  string `short:"o" placeholder:"DIR" help:"Write to this folder instead of build/release."`
	Version string `placeholder:"VERSION" help:"Record this version in etc/released.sum; it has to be <base>-<version.Fork>."`
}

func (releaseCmd) Help() string {
	return "Writes the .info, .mod and .zip of the version, the list of versions, SHA256SUMS, and the lines for go.sum. " +
		"A version that etc/released.sum has with different content is refused."
}

func (c *releaseCmd) Run(a *app) error {
	if err := a.project.RefuseOpen(); err != nil {
		return err
	}
	version, err := a.project.ReleaseVersion(a.ctx)
	if err != nil {
		return err
	}
	if c.Version != "" && c.Version != version {
		return findings{fmt.Sprintf("the fork calls itself %s, not %s: change the constant Fork in version/fork.go", version, c.Version)}
	}
	dir := a.folder(c.Output, "release").Dir
	r, err := a.project.Release(a.ctx, dir, c.Version != "")
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
