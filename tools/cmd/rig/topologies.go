package main

import (
	"context"
	"os"

	"mongofork/tools/rig/suite"
)

type topologiesCmd struct {
	rigFlags
	Only []string `sep:"," placeholder:"TOPOLOGY" help:"Run only on these: server (without the lab), standalone, replicaset:3, sharded:2, loadbalanced:2."`
	File string   `placeholder:"NAME" help:"Run only the test file of this name, such as insertOne."`
}

// Validate is called by kong.
func (c *topologiesCmd) Validate() error {
	return checkOnly(c.Only, suite.Topologies(), "topology")
}

// Run runs the tests and prints the report.
func (c *topologiesCmd) Run(ctx context.Context) error {
	rig, err := c.open()
	if err != nil {
		return err
	}
	return finish(os.Stdout, rig.RunTopologies(ctx, chosen(c.Only, suite.Topologies()), c.File))
}
