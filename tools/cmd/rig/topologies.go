package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"mongofork/tools/rig/suite"
)

type topologiesCmd struct {
	rigFlags
	Only []string `sep:"," placeholder:"TOPOLOGY" help:"Run only on these: server (without the lab), standalone, replicaset:3, sharded:2, loadbalanced:2."`
	File string   `placeholder:"NAME" help:"Run only the test file of this name, such as insertOne."`
}

// Validate is called by kong.
func (c *topologiesCmd) Validate() error {
	for _, topology := range c.Only {
		if !slices.Contains(suite.Topologies(), topology) {
			return fmt.Errorf("--only: there is no topology %q; there are %s", topology, strings.Join(suite.Topologies(), ", "))
		}
	}
	return nil
}

// Run runs the tests and prints the report.
func (c *topologiesCmd) Run(ctx context.Context) error {
	topologies := c.Only
	if len(topologies) == 0 {
		topologies = suite.Topologies()
	}
	rig, err := c.open()
	if err != nil {
		return err
	}
	return finish(os.Stdout, rig.RunTopologies(ctx, topologies, c.File))
}
