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
	for _, form := range c.Only {
		if !slices.Contains(suite.Forms(), form) {
			return fmt.Errorf("--only: there is no form %q; there are %s", form, strings.Join(suite.Forms(), ", "))
		}
	}
	return nil
}

// Run runs the tests and prints the report.
func (c *integrationCmd) Run(ctx context.Context) error {
	forms := c.Only
	if len(forms) == 0 {
		forms = suite.Forms()
	}
	rig, err := c.open()
	if err != nil {
		return err
	}
	return finish(os.Stdout, rig.Integration(ctx, forms))
}
