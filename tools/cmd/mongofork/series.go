package main

import (
	"fmt"

	"mongofork/tools/fork/output"
	"mongofork/tools/fork/series"
)

type seriesCmd struct {
	Output string `short:"o" placeholder:"DIR" help:"Write to this folder instead of build/series/<base>."`
	authored
	allowOpen
}

func (c *seriesCmd) Run(a *app) error {
	if err := a.project.RefuseOpen(c.AllowOpen, true); err != nil {
		return err
	}
	patches, _, err := a.project.SeriesPatches(a.ctx, a.run, c.of(a))
	if err != nil {
		return err
	}
	out := a.folder(c.Output, "series", a.label())
	if err := series.Write(out.Dir, patches); err != nil {
		return err
	}
	for _, p := range patches[1:] {
		fmt.Fprintf(a.out, "%s/%s: +%d -%d, tests +%d\n", out.Label, p.Name, p.Added, p.Removed, p.AddedTests)
	}
	fmt.Fprintf(a.out, "%s: %d patches and a cover letter; apply them with: git am --empty=drop %s/*.patch\n", out.Label, len(patches)-1, out.Label)
	return nil
}

type verifySeriesCmd struct {
	From    int    `default:"1" placeholder:"N" help:"Check from this patch on; those before it are only applied."`
	APIDiff string `name:"apidiff" env:"APIDIFF" placeholder:"PKG@VERSION" help:"Compare the exported API with this version of apidiff."`
	Linter  string `env:"GOLANGCI_LINT" placeholder:"PKG@VERSION" help:"Lint with this version of golangci-lint and upstream's configuration."`
}

func (c *verifySeriesCmd) Run(a *app) error {
	check := series.Check{
		Dir:  output.Below(a.project.Root, "series", a.label()+".tree").Dir,
		From: c.From, APIDiff: c.APIDiff, Linter: c.Linter, Out: a.out,
	}
	verified, err := a.project.VerifySeries(a.ctx, a.run, check)
	if err != nil {
		return findings{err.Error()}
	}
	fmt.Fprintf(a.out, "%s: the series applies, %s, and the last is the fork except for what %s/%s leaves out\n",
		a.label(), verified, series.Folder, series.Setup)
	return nil
}
