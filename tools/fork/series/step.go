package series

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/strict"
)

// Folder holds the steps by which the overlay is told as a series of patches, one file for each, in the order of their names. Fixes holds
// those that mend one defect of upstream each, with the names of the defects' reports: the series begins with them. A file is YAML, or an
// archive with YAML before its Go files.
const (
	Folder = "etc/series"
	Fixes  = Folder + "/fixes"
	// setup is the file in Folder that is about the whole series and is no step.
	setup = Folder + "/series.yaml"
)

// Step is one commit of the series: what it brings, and why. What a step says holds for every base; on a base where it brings nothing it
// is left out.
type Step struct {
	// Name is that of the file, without its extension, and from where that is.
	Name string `yaml:"-"`
	from string
	// Title is the first line of the message, below the ticket's number.
	Title string `yaml:"title"`
	// Why says what is wrong or missing, Users what changes for applications, Specification which section wants it, and Tests what
	// shows that it works.
	Why           string `yaml:"why"`
	Users         string `yaml:"users"`
	Specification string `yaml:"specification"`
	Tests         string `yaml:"tests"`
	// Files are files of the overlay.
	Files []string `yaml:"files"`
	// Fields are the keys of fields of structs that come with this step, although the structs are there before.
	Fields []string `yaml:"fields"`

	// Base is the range of upstream's versions that a fix is for.
	Base string `yaml:"base"`
	// Until is the step of the series that removes a fix with its test, as it mends more in another way.
	Until string `yaml:"until"`
	// Edits are for declarations as upstream has them: once a step replaces or wraps one, that mends the defect.
	Edits []Edit `yaml:"edits"`

	// archive has Go files: of a step, declarations as they are before it, by the names of the files that have them now; of a fix,
	// what it adds, which may have directives.
	archive []txtar.File
}

// Options is what the series has besides its steps.
type Options struct {
	// Ticket stands at the beginning of each title.
	Ticket string `yaml:"ticket"`
	// Title and Letter are those of the cover letter.
	Title  string `yaml:"title"`
	Letter string `yaml:"letter"`
	// Left are the files of the overlay that upstream has no use for, with the reason.
	Left []LeftOut `yaml:"left"`
	// Files maps a file of the overlay to its name in upstream's tree.
	Files map[string]string `yaml:"files"`
	// Comments has the keys of functions whose comments, which are upstream's, get these paragraphs of ours, counted from 1.
	Comments map[string][]int `yaml:"comments"`
	// Tests are what the specifications' repository gets.
	Tests Tests `yaml:"tests"`
}

// LeftOut is what stays out of the series.
type LeftOut struct {
	Files  []string `yaml:"files"`
	Reason string   `yaml:"reason"`
}

// ReadOptions reads what a repository says of the whole series.
func ReadOptions(root string) (opt Options, err error) {
	data, err := fs.ReadFile(os.DirFS(root), setup)
	if err != nil {
		return opt, err
	}
	return opt, decodeStrictly(setup, data, &opt)
}

// read reads the steps whose files a pattern matches.
func read(root, pattern string) ([]Step, error) {
	names, err := fs.Glob(os.DirFS(root), pattern)
	if err != nil {
		return nil, err
	}
	var steps []Step
	for _, name := range names {
		data, err := fs.ReadFile(os.DirFS(root), name)
		if err != nil {
			return nil, err
		}
		archive := txtar.Parse(data)
		step := Step{Name: strings.TrimSuffix(path.Base(name), path.Ext(name)), from: name, archive: archive.Files}
		if err := decodeStrictly(name, archive.Comment, &step); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	return steps, nil
}

// ReadFixes reads a repository's fixes for a version of upstream, or all if it is empty.
func ReadFixes(root, version string) ([]Step, error) {
	all, err := read(root, Fixes+"/*")
	if err != nil {
		return nil, err
	}
	var ps problem.List
	var fixes []Step
	for _, fix := range all {
		versions, err := syntax.ParseBaseRange(strings.Fields(fix.Base))
		if err != nil {
			ps.Add(fix.from, 0, "write for which versions it is, as //fork:base does", "base: %v", err)
		}
		fix.complete(&ps)
		for _, file := range fix.Files {
			data, err := fs.ReadFile(os.DirFS(root), file)
			if err != nil {
				return nil, err
			}
			fix.archive = append(fix.archive, txtar.File{Name: file, Data: data})
		}
		if version == "" || versions.Holds(version) {
			fixes = append(fixes, fix)
		}
	}
	return fixes, ps.OrNil()
}

// decodeStrictly reads a YAML file and refuses fields that it does not know.
func decodeStrictly(name string, data []byte, to any) error {
	if err := strict.Decode(data, to); err != nil {
		return problem.List{{File: name, Message: "the file cannot be read: " + err.Error(),
			Mend: "correct the line that the message names"}}
	}
	return nil
}

// forVersion matches a paragraph that is only for some of upstream's versions, and their range.
var forVersion = regexp.MustCompile(`^\[([^\]]+)\]\s`)

// paragraphs returns the paragraphs of a text that are for a version, or all if it is empty.
func paragraphs(text, version string) (list []string, err error) {
	for p := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if of := forVersion.FindStringSubmatch(p); of != nil {
			versions, err := syntax.ParseBaseRange(strings.Fields(of[1]))
			if err != nil {
				return nil, err
			}
			if version != "" && !versions.Holds(version) {
				continue
			}
			p = p[len(of[0]):]
		}
		list = append(list, p)
	}
	return list, nil
}

// message returns the commit message for a version: the title, then why and what for.
func (s Step) message(ticket, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(ticket+" "+s.Title))
	for _, part := range []struct{ head, text string }{
		{"", s.Why}, {"What changes for users: ", s.Users}, {"Specification: ", s.Specification}, {"Tests: ", s.Tests},
	} {
		list, _ := paragraphs(part.text, version) // complete has looked for errors
		for i, paragraph := range list {
			if i == 0 {
				paragraph = part.head + paragraph
			}
			fmt.Fprintf(&b, "\n%s\n", fill(paragraph))
		}
	}
	return b.String()
}

// fill breaks a paragraph into lines of at most 72 bytes, as commit messages have them, where words permit.
func fill(text string) string {
	var lines []string
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last < 0 || len(lines[last])+1+len(word) > 72 {
			lines = append(lines, word)
			continue
		}
		lines[last] += " " + word
	}
	return strings.Join(lines, "\n")
}

// complete lists what the step does not say.
func (s Step) complete(ps *problem.List) {
	for _, field := range []struct{ name, text string }{
		{"title", s.Title}, {"why", s.Why}, {"users", s.Users}, {"specification", s.Specification}, {"tests", s.Tests},
	} {
		if strings.TrimSpace(field.text) == "" {
			ps.Add(s.from, 0, "write it: reviewers know nothing but the driver", "the step has no %s", field.name)
		}
		if _, err := paragraphs(field.text, ""); err != nil {
			ps.Add(s.from, 0, "write versions as //fork:base does", "%s: %v", field.name, err)
		}
	}
	if len(s.Title) > 60 || strings.Contains(strings.TrimSpace(s.Title), "\n") {
		ps.Add(s.from, 0, "shorten it", "the title is longer than a line of 60 bytes")
	}
	for _, field := range s.Fields {
		if _, err := syntax.ParseKey(field); err != nil {
			ps.Add(s.from, 0, "write it as docs/builder.md says", "fields: %v", err)
		}
	}
	if !slices.IsSorted(s.Files) {
		ps.Add(s.from, 0, "sort the list", "the files are not in order")
	}
}
