package series

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"mongofork/tools/fork/plan"
	"mongofork/tools/fork/problem"
	"mongofork/tools/fork/syntax"
	"mongofork/tools/strict"
)

// Folder holds the setup of the series, and the messages of layers without a folder of their own.
const (
	Folder = "etc/series"
	setup  = Folder + "/series.yaml"
)

// fixFolders are the folders of the layers that mend a defect of upstream each. One with a report needs nothing else.
var fixFolders = []string{"fixes", "standalone"}

// Step is one commit of the series: a layer, and the message that its README is. On a base where the layer changes nothing it is left out.
type Step struct {
	// Name is the layer's.
	Name string
	// Title is the first line of the message, below the ticket's number.
	Title string

	layer      int
	alone      bool   // it is no part of the series, but a patch of its own
	from       string // where the message is
	paragraphs []string
}

// Sections begin the paragraphs that each message must have, after the description of the problem. The last section is not sent to
// upstream.
var sections = []string{"**Users.** ", "**Source.** ", "**Tests.** ", "**Dropped by.** "}

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

// LeftOut is what stays out of the series: files, and folders of layers.
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
	if err := strict.Decode(data, &opt); err != nil {
		return opt, problem.List{{File: setup, Message: "the file cannot be read: " + err.Error(),
			Mend: "correct the line that the message names"}}
	}
	return opt, nil
}

// ReadSteps reads a repository's layers as steps.
func ReadSteps(root string) (steps []Step, err error) {
	layers, err := plan.ReadLayers(root)
	if err != nil {
		return nil, err
	}
	var ps problem.List
	for i, layer := range layers {
		step := Step{Name: layer.Name, layer: i, alone: layer.Alone, from: path.Join(Folder, layer.Name+".md")}
		if layer.Below {
			step.from = path.Join(layer.Name, "README.md")
		}
		text, err := fs.ReadFile(os.DirFS(root), step.from)
		if errors.Is(err, fs.ErrNotExist) {
			ps.Add(step.from, 0, "write it: it is the commit's message", "the layer %q has no message", layer.Name)
			continue
		} else if err != nil {
			return nil, err
		}
		step.read(string(text), &ps)
		steps = append(steps, step)
	}
	return steps, ps.OrNil()
}

// forVersion matches a paragraph that is only for some of upstream's versions, and their range.
var forVersion = regexp.MustCompile(`^\[([^\]]+)\]\s`)

// read reads the message, and lists what it does not say.
func (s *Step) read(text string, ps *problem.List) {
	text, titled := strings.CutPrefix(strings.TrimSpace(text), "# ")
	list := strings.Split(text, "\n\n")
	s.Title, s.paragraphs = strings.TrimSpace(list[0]), list[1:]
	if !titled || len(s.Title) > 60 || strings.Contains(s.Title, "\n") {
		ps.Add(s.from, 0, "shorten it", "the first line is not # and a title of at most 60 bytes")
	}
	for _, section := range sections {
		begins := func(p string) bool { return strings.HasPrefix(p, section) }
		if !slices.ContainsFunc(s.paragraphs, begins) {
			ps.Add(s.from, 0, "write it: reviewers know nothing but the driver", "no paragraph begins with %s", strings.TrimSpace(section))
		}
	}
	for _, p := range s.paragraphs {
		if of := forVersion.FindStringSubmatch(p); of != nil {
			if _, err := syntax.ParseBaseRange(strings.Fields(of[1])); err != nil {
				ps.Add(s.from, 0, "write versions as //fork:base does", "%v", err)
			}
		}
	}
}

// message returns the commit message for a version of upstream.
func (s Step) message(ticket, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(ticket+" "+s.Title))
	for _, p := range s.paragraphs {
		if of := forVersion.FindStringSubmatch(p); of != nil {
			if versions, _ := syntax.ParseBaseRange(strings.Fields(of[1])); !versions.Holds(version) { // read looks for errors
				continue
			}
			p = p[len(of[0]):]
		}
		if strings.HasPrefix(p, sections[len(sections)-1]) {
			continue
		}
		if name, text, ok := strings.Cut(p, ".** "); ok && strings.HasPrefix(name, "**") {
			p = name[2:] + ": " + text
		}
		fmt.Fprintf(&b, "\n%s\n", fill(p))
	}
	return b.String()
}

// fill breaks a paragraph into lines of at most 72 bytes, as commit messages have them, where words permit. It leaves a table as it is.
func fill(text string) string {
	if strings.HasPrefix(text, "    ") {
		return text
	}
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
