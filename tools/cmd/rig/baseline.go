package main

import (
	"context"
	"errors"
	"os"
)

type baselineCmd struct {
	rigFlags
	Runs  int  `default:"2" help:"Number of test runs in the untouched module, to see which outcomes vary."`
	Check bool `help:"Compare with the record, and write nothing."`
}

// Validate is called by kong.
func (c *baselineCmd) Validate() error {
	if c.Runs < 1 {
		return errors.New("--runs: the tests have to be run once at least")
	}
	return nil
}

// Run measures and prints the report.
func (c *baselineCmd) Run(ctx context.Context) error {
	rig, err := c.open()
	if err != nil {
		return err
	}
	return finish(os.Stdout, rig.Baseline(ctx, c.Runs, !c.Check))
}
