package suite

import (
	"context"
	"path"
)

// OwnTests returns the overlay's tests that need no server, by the folder of their package, and the environment that they need, in a copy
// of the fork below the root.
func (r *Rig) OwnTests(ctx context.Context, tree string) (byFolder map[string][]string, env []string, err error) {
	t, err := r.readTrees(tree)
	if err != nil {
		return nil, nil, err
	}
	ours := t.ours()
	byFolder = map[string][]string{}
	for test := range ours.must {
		folder := path.Clean(test.Package)
		byFolder[folder] = append(byFolder[folder], test.Test)
	}
	err = ours.prepare(ctx)
	return byFolder, ours.env, err
}
