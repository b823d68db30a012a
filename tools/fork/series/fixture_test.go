package series

import (
	"mongofork/tools/fork/filetree"
)

// stepFile is a step of a series that says everything and brings what more says.
func stepFile(title, more string) []byte {
	return []byte("title: " + title +
		"\nwhy: |\n  It was wrong.\n\n  It is right now.\nusers: nothing\nspecification: none\ntests: its own\n" + more)
}

// seriesOverlay is an overlay of two steps. The second has a wrapped declaration, and changes the file that the first brings: a
// function, which then needs an import, and a field.
func seriesOverlay() filetree.Tree {
	return filetree.Tree{
		"pool/policy.go": []byte(`package pool

import "strings"

// limit is the limit.
const limit = 3

// limitName names the limit in words.
func limitName() string {
	name := "limit"
	name = strings.ToUpper(name)
	return name
}

// names are what the pool is called.
type names struct {
	limit string
	shout string // what the second step wants
}
`),
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
		"pool/own.go":             []byte("package pool\n\n// own is nobody's business.\nconst own = \"ours\"\n"),
		"etc/series/1-limit.yaml": stepFile("Have a limit", "files: [pool/policy.go]\n"),
		"etc/series/2-calls.txtar": stepFile("Count calls", "files: [pool/get.go]\nfields: [pool names.shout]\n"+
			"-- pool/policy.go --\npackage pool\n\n// limitName names the limit.\nfunc limitName() string {\n"+
			"\treturn \"limit\"\n}\n"),
		"etc/series/series.yaml": []byte("ticket: T-1\ntitle: Limits\nletter: Dear all,\nleft:\n  - {files: [pool/own.go], " +
			"reason: it is ours}\nfiles: {pool/get.go: pool/count.go}\n"),
		"etc/series/0-absent.yaml": stepFile("Change another base", ""),
	}
}
