package series

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
)

// Folder holds the steps by which the overlay is told as a series of patches, one file for each, in the order of their names.
const Folder = "etc/series"

// Setup is the file in Folder that is about the whole series and is no step.
const Setup = "series.yaml"

// Step is one commit of the series: what of the overlay it brings, and why. What a step says holds for every base; on a base where
// it brings nothing it is left out.
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
	// Before are Go files with declarations as they are before this step, by the names of the files that have them now. They are in an
	// archive beside the step.
	Before map[string][]byte `yaml:"-"`
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

// ReadSteps reads a repository's steps, in order, and what is said of all.
func ReadSteps(from string) ([]Step, Options, error) {
	var opt Options
	root := os.DirFS(from)
	names, err := fs.Glob(root, Folder+"/*.yaml")
	if err != nil {
		return nil, opt, err
	}
	var steps []Step
	for _, name := range names {
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, opt, err
		}
		if path.Base(name) == Setup {
			err = decodeStrictly(name, data, &opt)
		} else {
			step := Step{Name: strings.TrimSuffix(path.Base(name), ".yaml"), from: name, Before: map[string][]byte{}}
			err = decodeStrictly(name, data, &step)
			if archive, readErr := fs.ReadFile(root, Folder+"/"+step.Name+".txtar"); readErr == nil {
				for _, file := range txtar.Parse(archive).Files {
					step.Before[file.Name] = file.Data
				}
			}
			steps = append(steps, step)
		}
		if err != nil {
			return nil, opt, err
		}
	}
	if len(steps) == 0 {
		return nil, opt, fmt.Errorf("there are no steps in %s", filepath.Join(from, filepath.FromSlash(Folder)))
	}
	return steps, opt, nil
}

// decodeStrictly reads a YAML file and refuses fields that it does not know.
func decodeStrictly(name string, data []byte, to any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(to); err != nil && !errors.Is(err, io.EOF) {
		return problem.List{{File: name, Message: "the file cannot be read: " + err.Error(),
			Mend: "correct the line that the message names"}}
	}
	return nil
}

// File returns where the step is written.
func (s Step) File() string { return s.from }

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
			ps.Add(s.File(), 0, "write it: reviewers know nothing but the driver", "the step has no %s", field.name)
		}
		if _, err := paragraphs(field.text, ""); err != nil {
			ps.Add(s.File(), 0, "write versions as //fork:base does", "%s: %v", field.name, err)
		}
	}
	if len(s.Title) > 60 || strings.Contains(strings.TrimSpace(s.Title), "\n") {
		ps.Add(s.File(), 0, "shorten it", "the title is longer than a line of 60 bytes")
	}
	if !slices.IsSorted(s.Files) {
		ps.Add(s.File(), 0, "sort the list", "the files are not in order")
	}
}
