package series

import (
	"mongofork/tools/fork/filetree"
)

// stepFile is a step of a series that says everything and brings what more says.
func stepFile(title, more string) []byte {
	return []byte("title: " + title + "\nwhy: |\n  It was wrong.\n\n  It is right now.\nusers: nothing\nspecification: none\ntests: its own\n" + more)
}

// seriesOverlay is an overlay whose one file of two subjects two steps bring, with a fragment, a wrapped declaration and an import
// that only the later step needs.
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

// shout is what the second step wants.
func shout(s string) string { return strings.ToUpper(s) + limitName() }
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
		"pool/own.go":              []byte("package pool\n\n// own is nobody's business.\nconst own = \"ours\"\n"),
		"etc/series/1-limit.yaml":  stepFile("Have a limit", "files: [pool/policy.go]\n"),
		"etc/series/2-calls.yaml":  stepFile("Count calls", "files: [pool/get.go]\ndeclarations: [pool shout]\nfragments:\n  - file: pool/policy.go\n    lines: |2\n      \tname = strings.ToUpper(name)\n"),
		"etc/series/series.yaml":   []byte("ticket: T-1\ntitle: Limits\nletter: Dear all,\nleft:\n  - {files: [pool/own.go], reason: it is ours}\nfiles: {pool/get.go: pool/count.go}\n"),
		"etc/series/0-absent.yaml": stepFile("Change another base", ""),
	}
}
