package mongod

import "context"

// AwaitPrimary is for tests of what happens without one.
func (d *Deployment) AwaitPrimary(ctx context.Context) (*Member, error) { return d.awaitPrimary(ctx) }

// FreePorts is for tests of ports that are not free.
var FreePorts = freePorts

// Because is for tests of what is read from logs.
var Because = because
