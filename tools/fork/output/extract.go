package output

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mongofork/tools/fork/assemble"
	"mongofork/tools/fork/filetree"
	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// Extraction is an overlay file as edits of the output change it.
type Extraction struct {
	// File is the overlay file.
	File string
	// Diff is the change as a unified diff.
	Diff []byte
	// Text is the file as it becomes.
	Text []byte
}

// Edits are the files of an output that differ from what was built.
type Edits struct {
	label   string
	built   filetree.Tree
	changes map[string]Change
	// manifest is that of the build.
	manifest Manifest
}

// Edits returns how the output was edited; nil if it was not.
func (o Folder) Edits() (*Edits, error) {
	built, changes, err := o.state()
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	m, _, err := readManifest(o.manifestFile())
	if err != nil {
		return nil, err
	}
	return &Edits{o.Label, built, changes, m}, nil
}

// Extract finds the overlay text behind every edit. If any edit cannot be
// brought back the error is a problem.List.
func (e *Edits) Extract(o *plan.Overlay, a *assemble.Result, folders []plan.Folder) ([]Extraction, error) {
	x := extractor{label: e.label, assembly: a, folders: folders, edits: map[string][]assemble.Edit{}, created: filetree.Tree{}}
	for _, name := range slices.Sorted(maps.Keys(e.changes)) {
		x.change(name, e.changes[name], e.built[name], e.manifest[name])
	}
	if err := x.problems.OrNil(); err != nil {
		return nil, err
	}
	return x.extractions(o)
}

type extractor struct {
	label    string
	assembly *assemble.Result
	folders  []plan.Folder
	problems problem.List
	edits    map[string][]assemble.Edit // by overlay file
	created  filetree.Tree
}

func (x *extractor) fail(name string, line int, mend, format string, args ...any) {
	x.problems.Add(x.label+"/"+name, line, mend, format, args...)
}

// change deals with one file of the output that differs from its manifest.
func (x *extractor) change(name string, how Change, now []byte, built string) {
	was := x.assembly.Tree[name]
	const drop = "go run ./tools/cmd/mongofork build --force to drop the edit"
	switch {
	case bytes.Equal(was, now) && how != Deleted:
		// The overlay has the edit already.
	case how != Deleted && syntax.IsGoFile(name) && !syntax.IsFormatted(now):
		x.fail(name, 0, "gofmt -w "+x.label+"/"+name, "the file is not gofmt-formatted")
	case how == Foreign && x.inOverlay(name):
		x.created[name] = now
	case how == Foreign:
		x.fail(name, 0, "move it to an overlay folder, or remove it", "a new file outside the overlay's folders")
	case how == Deleted && x.assembly.Origins[name] != "":
		x.fail(name, 0, "git rm "+name+" && go run ./tools/cmd/mongofork build --force", "a deleted file is not extracted")
	case how == Deleted:
		x.fail(name, 0, drop, "a deleted file is upstream's: an overlay cannot remove files")
	case filetree.Digest(was) != built:
		x.fail(name, 0, "build the overlay with -o into another folder and merge by hand", "the overlay has changed since the build too")
	default:
		x.edited(name, was, now)
	}
}

func (x *extractor) inOverlay(name string) bool {
	return slices.ContainsFunc(x.folders, func(f plan.Folder) bool { return strings.HasPrefix(name, f.Path+"/") })
}

// edited traces each changed run of lines back to the overlay.
func (x *extractor) edited(name string, was, now []byte) {
	segments := x.assembly.Segments[name]
	if origin := x.assembly.Origins[name]; len(segments) == 1 && segments[0].File == origin && origin != "" {
		x.edits[origin] = append(x.edits[origin], assemble.Edit{Start: 0, End: len(was), Text: now})
		return
	}
	if _, touched := x.assembly.Segments[name]; touched && segments == nil {
		x.fail(name, 0, "make the edit in the overlay, then go run ./tools/cmd/mongofork build --force", "gofmt reformatted this file when it was built, so its lines cannot be traced back")
		return
	}
	starts := lineOffsets(was)
	for _, h := range filetree.Hunks(filetree.NewDiff("", "a", was, "b", now).Text) {
		from, to := starts[h.Start], starts[h.End]
		s, ok := origin(segments, from, to)
		if !ok {
			x.fail(name, h.Start+1, "write a //fork:replace or //fork:wrap of it into the overlay, then go run ./tools/cmd/mongofork build --force",
				"an edit inside upstream's text (%s), which this repository does not hold", enclosing(name, was, from))
			continue
		}
		x.edits[s.File] = append(x.edits[s.File], assemble.Edit{Start: s.Offset + from - s.Start, End: s.Offset + to - s.Start, Text: h.Text})
	}
}

// lineOffsets returns where each line begins, and the text's length at the end.
func lineOffsets(text []byte) []int {
	offsets := []int{0}
	for i, c := range text {
		if c == '\n' {
			offsets = append(offsets, i+1)
		}
	}
	return append(offsets, len(text))
}

// origin returns the overlay's segment that holds [from, to). Between two
// segments an insertion belongs to the overlay's.
func origin(segments []assemble.Segment, from, to int) (assemble.Segment, bool) {
	i := slices.IndexFunc(segments, func(s assemble.Segment) bool {
		return s.File != "" && s.Start <= from && to <= s.End
	})
	if i < 0 {
		return assemble.Segment{}, false
	}
	return segments[i], true
}

// enclosing names the declaration at an offset of an output file.
func enclosing(name string, text []byte, at int) string {
	if syntax.IsGoFile(name) {
		if s, err := syntax.Parse(name, text); err == nil {
			for _, d := range s.Decls {
				if start, end := d.Extent(); start <= at && at <= end {
					return fmt.Sprintf("%s %s", d.Kind, d.Key.Name)
				}
			}
		}
	}
	return "outside any declaration"
}

// extractions applies the edits to the overlay's files.
func (x *extractor) extractions(o *plan.Overlay) ([]Extraction, error) {
	var list []Extraction
	add := func(name, from string, was, now []byte) {
		list = append(list, Extraction{File: name, Text: now, Diff: filetree.NewDiff(name, from, was, "b/"+name, now).Text})
	}
	for _, f := range o.Files {
		if edits := x.edits[f.Path]; len(edits) > 0 {
			text, _, err := assemble.Splice(f.Data, "", edits)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
			add(f.Path, "a/"+f.Path, f.Data, text)
		}
	}
	for _, name := range x.created.Paths() {
		add(name, "/dev/null", nil, x.created[name])
	}
	return list, nil
}
