package main

import (
	"path/filepath"
	"strings"

	"mongofork/tools/command"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/git"
	"mongofork/tools/fork/series"
)

// author is who git is configured for, or else the builder.
func (a *app) author() string {
	out, err := command.Output(a.ctx, a.project.Root, nil, "git", "-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
	name, _, found := strings.Cut(string(out), ">")
	if err != nil || !found {
		return git.Builder
	}
	return name + ">"
}

type seriesCmd struct {
	Tree  string `type:"path" placeholder:"DIR" help:"Also write the tree after the last commit: the fork, except for what the series leaves out."`
	Fixes bool   `help:"Instead write the fix of each defect, for upstream's unchanged tree, to the folder fixes below that one."`
}

func (c *seriesCmd) Run(a *app) error {
	plan, _, err := a.project.Assemble(a.ctx)
	if err != nil {
		return err
	}
	steps, err := series.New(a.project.Root, plan)
	if err != nil {
		return err
	}
	var patches, tree filetree.Tree
	out := a.project.Folder("series", a.project.Base).Dir
	if c.Fixes {
		out = filepath.Join(out, "fixes")
		patches, err = steps.FixPatches(a.ctx, a.author())
	} else {
		patches, tree, err = steps.Patches(a.ctx, a.author())
	}
	if err == nil && c.Tree != "" {
		err = tree.Write(c.Tree)
	}
	if err != nil {
		return err
	}
	a.printf("%d patches; apply those of the series with: git am --empty=drop %s/*.patch\n", len(patches), out)
	return series.Write(out, patches)
}

type releaseCmd struct {
	Output string `short:"o" type:"path" required:"" placeholder:"DIR" help:"The folder to write to. If it has a release, compare it."`
	Final  string `placeholder:"VERSION" help:"Build this version for publication, and record its hash in etc/released.sum. It has to be <base>-<version.Fork>."`
}

func (c *releaseCmd) Run(a *app) error {
	r, err := a.project.Release(a.ctx, c.Final)
	if err != nil {
		return err
	}
	had, _ := filetree.Read(c.Output)
	if err := a.project.Publish(r, c.Output); err != nil {
		return err
	}
	for _, name := range r.Files.Paths() {
		a.printf("%s\n", name)
	}
	a.printf("%s: %s\n\n", c.Output, map[bool]string{true: "written", false: "compared, without a difference"}[len(had) == 0])
	a.printf("%s\nTo use it:\n\n\texport GOPROXY=\"file://%s,$(go env GOPROXY)\" GONOSUMDB=mongofork.internal\n"+
		"\tgo run ./tools/cmd/mongofork use --release ../app\n", r.Files["go.sum"], filepath.ToSlash(c.Output))
	return nil
}
