package fork

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/problem"
)

// Verify builds twice from scratch and compares the trees on disk with each
// other and with the lock. It returns the output's hash.
func (p *Project) Verify(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "mongofork-verify-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	var trees [2]filetree.Tree
	for i := range trees {
		if trees[i], err = p.rebuild(ctx, filepath.Join(dir, fmt.Sprint(i))); err != nil {
			return "", err
		}
	}
	lock, err := p.ReadLock()
	if err != nil {
		return "", err
	}
	var ps problem.List
	for _, path := range filetree.Changed(trees[0], trees[1]) {
		ps.Add(path, 0, "report this as a bug of mongofork", "two builds of the same sources differ")
	}
	hash, err := trees[0].Hash("")
	if err != nil {
		return "", err
	}
	if hash != lock.Output {
		ps.Add(p.LockFile(), 0, "go run ./tools/cmd/mongofork patch shows the fork; then go run ./tools/cmd/mongofork accept", "the output's hash is %s, but the lock has %q", hash, lock.Output)
	}
	return hash, ps.OrNil()
}

// rebuild builds into dir and reads the result back.
func (p *Project) rebuild(ctx context.Context, dir string) (filetree.Tree, error) {
	_, a, err := p.Assemble(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.Write(dir); err != nil {
		return nil, err
	}
	return filetree.Read(dir)
}
