package series

import (
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
)

// message is that of a layer that says everything.
func message(title string) []byte {
	return []byte("# " + title + "\n\nIt was wrong.\n\nIt is right now.\n\n**Users.** Nothing.\n\n**Source.** None.\n\n" +
		"**Tests.** Its own.\n\n**Dropped by.** Nobody.\n")
}

// seriesOverlay is an overlay of four layers: files that the second edits, and a declaration that the last two wrap.
func seriesOverlay() filetree.Tree {
	return filetree.Tree{
		plan.FoldersFile: []byte("limits: pool/policy.go\nfixes/*\ncalls: pool\nextras/*\n"),
		"pool/policy.go": []byte("package pool\n\n// limit is the limit.\nconst limit = 3\n"),
		"pool/get.go": []byte(`package pool

import "context"

// Get counts.
//
//fork:wrap count the calls
func (p *Pool) Get(ctx context.Context, name string) (int, error) {
	calls++
	return p.upstreamGet(ctx, name)
}

var calls = limit
`),
		"pool/own.go":               []byte("package pool\n\n// own is nobody's business.\nconst own = \"ours\"\n"),
		"fixes/returns/README.md":   message("Count returns"),
		"fixes/returns/edits.yaml":  []byte("- {in: pool Pool.Put, at: statement used, instead: \"…\\np.returned++\"}\n"),
		"fixes/returns/pool/sum.go": []byte("package pool\n\n// Pool counts.\n//\n//fork:extend it counts\ntype Pool struct {\n\treturned int\n}\n"),
		"fixes/none/README.md":      message("Change another base"),
		"fixes/none/edits.yaml":     []byte("- {base: <v2.0.0, in: pool Pool.Put, at: statement used, instead: x}\n"),
		"extras/more/README.md":     message("Count more"),
		"extras/more/pool/more.go": []byte(`package pool

import "context"

//fork:wrap count more
func (p *Pool) Get(ctx context.Context, name string) (int, error) {
	more++
	return p.upstreamGet(ctx, name)
}

var more int
`),
		"etc/series/limits.md": message("Have a limit"),
		"etc/series/calls.md":  message("Count calls"),
		"etc/series/series.yaml": []byte("ticket: T-1\ntitle: Limits\nletter: Dear all,\nleft: [pool/own.go]\n" +
			"files: {pool/get.go: pool/count.go}\ncomments: {pool Open: [0]}\n"),
	}
}
