package fork

import (
	"context"

	"mongofork/tools/fork/problem"
)

// Verify builds twice from scratch and compares the hashes with each other and with the lock. It returns the output's hash.
func (p *Project) Verify(ctx context.Context) (string, error) {
	lock, err := p.ReadLock()
	if err != nil {
		return "", err
	}
	var hashes [2]string
	for i := range hashes {
		_, a, err := p.Assemble(ctx)
		if err != nil {
			return "", err
		}
		if hashes[i], err = a.Hash(""); err != nil {
			return "", err
		}
	}
	var ps problem.List
	if hashes[0] != hashes[1] {
		ps.Add(p.LockFile(), 0, "report this as a bug of mongofork", "two builds of the same sources differ")
	}
	if hashes[0] != lock.Output {
		ps.Add(p.LockFile(), 0, "go run ./tools/cmd/mongofork patch shows the fork; then go run ./tools/cmd/mongofork accept", "the output's hash is %s, but the lock has %q", hashes[0], lock.Output)
	}
	return hashes[0], ps.OrNil()
}
