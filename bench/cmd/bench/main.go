// Bench compares the fork with upstream's driver, and writes the tables of docs/performance/.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"mongofork/bench/overload"
	"mongofork/tools/command"
)

const description = `Compares the fork with upstream's driver, on two bases, under overload, in virtual time, and writes the tables of
README.md and docs/performance/, and docs/goodput.svg. "make bench" compiles what it runs, and calls it in bench/.

Exit codes: 0 done, 1 a benchmark failed, 2 wrong usage.`

// root is the repository's.
const root = ".."

func main() { command.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var bases struct {
		Older string `arg:"" help:"The oldest base."`
		Newer string `arg:"" help:"The newest base."`
	}
	return command.Program{
		Name: "bench", Description: description, CLI: &bases,
		Do: func(*kong.Context) error {
			p, err := newPlan(bases.Older, bases.Newer)
			if err != nil {
				return err
			}
			all, err := p.measure(ctx, stderr)
			if err != nil {
				return err
			}
			return errors.Join(p.draw(root, all), p.write(root, all))
		},
	}.Run(args, stdout, stderr)
}

// write writes all tables into their pages.
func (p plan) write(root string, all measured) error {
	for _, t := range p.Tables {
		if err := replaceTable(filepath.Join(root, t.Page), t.Marker, t.text(p, all)); err != nil {
			return err
		}
	}
	return nil
}

// pictureText has the curves of arms over the load, on a logarithmic scale, and their names. Lines differ in dashes, not only in colors.
//
//go:embed goodput.svg.tmpl
var pictureText string

// draw writes the picture.
func (p plan) draw(root string, all measured) error {
	curve := func(arm string) (string, error) {
		var places []string
		for _, load := range []float64{1, 1.1, 1.5, 2, 3, 4, 6, 10} {
			scenario := fmt.Sprintf("%g ×", load)
			result, ok := all[key{scenario, arm}]
			if !ok {
				return "", fmt.Errorf("nobody measures %s at %s", arm, scenario)
			}
			places = append(places, fmt.Sprintf("%.1f %.1f", 56+404*math.Log10(load), 290-2.5*result["goodput"]))
		}
		return "M" + strings.Join(places, "L"), nil
	}
	name := func(arm string) string { return html.EscapeString(p.Arms[arm].Name) }
	var svg bytes.Buffer
	picture := template.Must(template.New("goodput.svg").Funcs(template.FuncMap{"curve": curve, "name": name}).Parse(pictureText))
	if err := picture.Execute(&svg, nil); err != nil {
		return err
	}
	//nolint:gosec // a picture that everybody may see
	return os.WriteFile(filepath.Join(root, "docs", "goodput.svg"), svg.Bytes(), 0o644)
}

// replaceTable replaces what stands in a page between "<!-- measured: marker -->" and "<!-- end -->".
func replaceTable(page, marker, text string) error {
	content, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	start, end := "<!-- measured: "+marker+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(string(content), start)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s: there is no %q with %q after it", page, strings.TrimSpace(start), strings.TrimSpace(end))
	}
	//nolint:gosec // a page that everybody may read
	return os.WriteFile(page, []byte(before+start+text+end+after), 0o644)
}

// measured are results by scenario and arm.
type measured map[key]overload.Result

type key struct{ scenario, arm string }

// runJob runs a job with an arm's driver, in the program that "make bench" has compiled, whose output begins with the result.
func runJob(ctx context.Context, a arm, job overload.Job) (result overload.Result, err error) {
	encoded, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	program := filepath.Join(root, "build", "with", filepath.FromSlash(a.Driver), "overload.test")
	cmd := exec.CommandContext(ctx, program, "-test.run=^TestJob$")
	// A bubble runs one goroutine after the other, and keeps little of what it allocates.
	cmd.Env = append(os.Environ(), "BENCH_JOB="+string(encoded), "GOMAXPROCS=1", "GOGC=2000")
	said, err := cmd.CombinedOutput()
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(said)).Decode(&result)
	}
	if err != nil {
		return nil, fmt.Errorf("%s, %s, seed %d: %w\n%s", job.Scenario.Name, a.Name, job.Seed, err, said)
	}
	return result, nil
}

// measure runs the scenarios with all their arms on all processors, each as often as it has seeds.
func (p plan) measure(ctx context.Context, progress io.Writer) (measured, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU())
	runs := map[key][]overload.Result{}
	for i, e := range p.Scenarios {
		for _, name := range e.Arms {
			a := p.Arms[name]
			results := make([]overload.Result, e.Seeds)
			runs[key{e.Name, name}] = results
			for seed := range results {
				group.Go(func() (err error) {
					results[seed], err = runJob(ctx, a, overload.Job{Scenario: e.Scenario, Options: a.Options,
						Spent: a.Spent, Seed: uint64(seed) + 1})
					fmt.Fprintf(progress, "scenario %d of %d: %s, %s\n", i+1, len(p.Scenarios), e.Name, a.Name)
					return err
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := measured{}
	for k, results := range runs {
		all[k] = overload.Mean(results)
	}
	return all, nil
}
