package series

import (
	"io/fs"
	"os"
	"path"
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
