package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/interpreted"
	"mongofork/bench/internal/report"
	"mongofork/bench/internal/result"
)

type languagesCmd struct{ overloadFlags }

var errNoInterpreter = errors.New("there is neither Python nor Node.js, so nothing is left to measure; " +
	"install python3 with its module venv, or node and npm, and run: make bench-languages")

// Validate is called by the parser.
func (c *languagesCmd) Validate() error { return c.validate(stormKind) }

// Run measures the drivers of other languages under overload.
func (c *languagesCmd) Run(ctx context.Context, console console) error {
	setting := result.CurrentSetting("/", time.Now())
	installer := interpreted.Installer{Source: c.file("bench", "arms"), Target: c.file("build", "bench", "arms")}
	others, err := install(ctx, console, []language{{goodput.PyMongo, installer.PyMongo}, {goodput.NodeDriver, installer.NodeDriver}})
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "bench-languages-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	config, err := c.build(ctx, console, temp, goodput.LanguageScenarios())
	if err != nil {
		return err
	}
	config.Arms, config.Storm = append(config.Arms, others...), goodput.NewLanguageStorm(c.Storm)
	file := result.File[*goodput.Results]{Command: "make bench-languages", Setting: setting}
	return c.measureCanned(ctx, console, c.chosen(config), file, report.LanguagesFile, c.everything())
}

// language is a driver of another language, and what installs the load with it.
type language struct {
	name    string
	install func(context.Context) (*interpreted.Program, error)
}

// install installs the loads, as far as there are interpreters.
func install(ctx context.Context, console console, languages []language) ([]goodput.Arm, error) {
	var arms []goodput.Arm
	for _, l := range languages {
		console.progressf("installing the load with %s", l.name)
		program, err := l.install(ctx)
		switch {
		case errors.Is(err, exec.ErrNotFound):
			console.progressf("it is left out: %v", err)
		case err != nil:
			return nil, fmt.Errorf("%w\nThe package registries have to be within reach; then run again: make bench-languages", err)
		default:
			arms = append(arms, goodput.Arm{Name: l.name, Program: program.Path, Script: program.Args})
		}
	}
	if len(arms) == 0 {
		return nil, errNoInterpreter
	}
	return arms, nil
}
