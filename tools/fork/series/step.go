package series

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
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

// Step is one commit of the series: a layer, without the files that the series leaves out, and the message that its README is. On a base
// where the layer changes nothing it is left out.
type Step struct {
	Layer   plan.Layer
	Message string
}

// sections begin the paragraphs that each message must have, after the description of the problem. The last section is not sent to
// upstream.
var sections = []string{"**Users.** ", "**Source.** ", "**Tests.** ", "**Dropped by.** "}

// Options is what the series has besides its steps.
type Options struct {
	// Ticket stands at the beginning of each title.
	Ticket string `yaml:"ticket"`
	// Title and Letter are those of the cover letter.
	Title  string `yaml:"title"`
	Letter string `yaml:"letter"`
	// Left are the files of the overlay, and the folders of layers, that upstream has no use for.
	Left []string `yaml:"left"`
	// Files maps a file of the overlay to its name in upstream's tree.
	Files map[string]string `yaml:"files"`
	// Comments has the keys of functions whose comments, which are upstream's, get these paragraphs of ours, counted from 1.
	Comments map[string][]int `yaml:"comments"`
}

// readOptions reads what a repository says of the whole series.
func readOptions(root string) (opt Options, err error) {
	return opt, strict.Read(filepath.Join(root, setup), &opt)
}

// left reports whether a file or a layer stays out of the series.
func (o Options) left(name string) bool {
	return slices.ContainsFunc(o.Left, func(out string) bool { return name == out || strings.HasPrefix(name, out+"/") })
}

// forVersion matches a paragraph that is only for some of upstream's versions, and their range.
var forVersion = regexp.MustCompile(`^\[([^\]]+)\]\s`)

// message returns the message of a layer's commit for a version of upstream, and lists what its README does not say.
func (o Options) message(root string, layer *plan.Layer, version string, ps *problem.List) (string, error) {
	from := path.Join(Folder, layer.Name+".md")
	if layer.Below {
		from = path.Join(layer.Name, "README.md")
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(from)))
	if err != nil {
		return "", fmt.Errorf("the layer %q has no message: %w", layer.Name, err)
	}
	text, titled := strings.CutPrefix(strings.TrimSpace(string(data)), "# ")
	title, text, _ := strings.Cut(text, "\n\n")
	if title = strings.TrimSpace(title); !titled || len(title) > 60 || strings.Contains(title, "\n") {
		ps.Add(from, 0, "shorten it", "the first line is not # and a title of at most 60 bytes")
	}
	said, missing := strings.TrimSpace(o.Ticket+" "+title)+"\n", slices.Clone(sections)
	for p := range strings.SplitSeq(text, "\n\n") {
		if of := forVersion.FindStringSubmatch(p); of != nil {
			versions, err := syntax.ParseBaseRange(strings.Fields(of[1]))
			if err != nil {
				ps.Add(from, 0, "write versions as //fork:base does", "%v", err)
			} else if !versions.Holds(version) {
				continue
			}
			p = p[len(of[0]):]
		}
		missing = slices.DeleteFunc(missing, func(section string) bool { return strings.HasPrefix(p, section) })
		if strings.HasPrefix(p, sections[len(sections)-1]) {
			continue
		}
		if name, text, ok := strings.Cut(p, ".** "); ok && strings.HasPrefix(name, "**") {
			p = name[2:] + ": " + text
		}
		said += "\n" + fill(p) + "\n"
	}
	for _, section := range missing {
		ps.Add(from, 0, "write it: reviewers know nothing but the driver", "no paragraph begins with %s",
			strings.TrimSpace(section))
	}
	return said, nil
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
