package suite

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

// trees are the two modules that upstream's tests run in, as paths below the root of the repository.
type trees struct {
	fork, upstream string
	// overlay are the paths of the overlay's files in the fork.
	overlay []string
	own     ownTests
}

// errNotBuilt replaces an error that has already been reported.
var errNotBuilt = errors.New("the fork could not be built; see the first failure")

// build builds both trees, once for all suites.
func (r *Rig) build(ctx context.Context) (*trees, error) {
	r.building.Lock()
	defer r.building.Unlock()
	if r.trees != nil || r.buildErr != nil {
		return r.trees, r.buildErr
	}
	var err error
	r.trees, err = r.buildTrees(ctx)
	r.buildErr = err
	if err != nil && !errors.Is(err, ErrUnavailable) {
		r.buildErr = errNotBuilt
	}
	return r.trees, err
}

func (r *Rig) buildTrees(ctx context.Context) (*trees, error) {
	overlay, err := r.Builder.Build(ctx, r.Base)
	if err != nil {
		return nil, err
	}
	if err := r.Builder.Link(r.Base); err != nil {
		return nil, err
	}
	t := &trees{fork: path.Join("build", r.Base), upstream: path.Join("build", "pristine", r.Base), overlay: overlay}
	if output, err := r.Tools.Run(ctx, r.file(t.upstream), r.env(), "go", "mod", "download"); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: the driver's dependencies cannot be downloaded; check the network and GOPROXY (%s)",
			ErrUnavailable, lastLine(output))
	}
	t.own, err = findOwnTests(r.file(t.fork), overlay)
	return t, err
}

func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return lines[len(lines)-1]
}

// BuildTrees builds the fork and the untouched module, and returns their folders below the root.
func (r *Rig) BuildTrees(ctx context.Context) (fork, upstream string, err error) {
	t, err := r.build(ctx)
	if err != nil {
		return "", "", err
	}
	return t.fork, t.upstream, nil
}
