package fork

import (
	"context"

	"mongofork/tools/fork/problem"
)

// Verify builds twice from scratch and compares the hashes. It returns the output's hash.
func (p *Project) Verify(ctx context.Context) (string, error) {
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
	if hashes[0] != hashes[1] {
		return "", problem.List{{File: p.LockFile(), Mend: "report this as a bug of mongofork",
			Message: "two builds of the same sources differ"}}
	}
	return hashes[0], nil
}
