package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"mongofork/tools/rig/suite"
)

type integrationCmd struct {
	rigFlags
	Only []string `sep:"," placeholder:"FORM" help:"Run only on these: plain, secured (with TLS and users)."`
}

// Validate is called by kong.
func (c *integrationCmd) Validate() error {
	return checkOnly(c.Only, suite.Forms(), "form")
}

// checkOnly checks the values of --only.
func checkOnly(only, all []string, what string) error {
	for _, name := range only {
		if !slices.Contains(all, name) {
			return fmt.Errorf("--only: there is no %s %q; there are %s", what, name, strings.Join(all, ", "))
		}
	}
	return nil
}

// chosen returns the values of --only, or all if there are none.
func chosen(only, all []string) []string {
	if len(only) == 0 {
		return all
	}
	return only
}

// Run runs the tests and prints the report.
func (c *integrationCmd) Run(ctx context.Context) error {
	rig, err := c.open()
	if err != nil {
		return err
	}
	return finish(os.Stdout, rig.Integration(ctx, chosen(c.Only, suite.Forms())))
}
