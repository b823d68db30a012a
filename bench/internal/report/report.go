// Package report writes the page about performance from files of results, and nothing else: no figure in it is typed.
package report

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"text/template"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/size"
	"mongofork/bench/internal/study"
	"mongofork/bench/internal/throttle"
)

// The files of results, in the folder of the page's pictures, beside OverheadFile and OverheadServerFile.
const (
	BucketFile        = "bucket" + result.Extension
	SizeFile          = "size" + result.Extension
	GoodputFile       = "goodput" + result.Extension
	GoodputServerFile = "goodput-server" + result.Extension
	LanguagesFile     = "languages" + result.Extension
	SimulationFile    = "simulation" + result.Extension
	ThrottlingFile    = "simulation-throttling" + result.Extension
)

//go:embed performance.md.tmpl
var pageTemplate string

// page is the template's data, with nil for what has not been measured.
type page struct {
	Overheads     []forkOverhead
	Bucket        *result.File[[]*throttle.Row]
	Size          *result.File[[]*size.Program]
	Goodput       *result.File[*goodput.Results]
	GoodputServer *result.File[*goodput.ServerResults]
	Languages     *result.File[*goodput.Results]
	Simulation    *result.File[*study.Study]
	Throttling    *result.File[*study.Throttling]
}

// Write writes performance.md in the folder of documents from the results in its folder performance, redraws its plots, and
// writes the summary in the README beside the folder.
func Write(docs string) error {
	var p page
	folder := filepath.Join(docs, "performance")
	var err error
	if p.Overheads, err = readOverheads(folder); err != nil {
		return err
	}
	for _, err := range []error{
		read(&p.Bucket, folder, BucketFile),
		read(&p.Size, folder, SizeFile), read(&p.Goodput, folder, GoodputFile), read(&p.GoodputServer, folder, GoodputServerFile),
		read(&p.Languages, folder, LanguagesFile), read(&p.Simulation, folder, SimulationFile),
		read(&p.Throttling, folder, ThrottlingFile),
	} {
		if err != nil {
			return err
		}
	}
	if p.Simulation != nil {
		if err := DrawSimulations(p.Simulation.Results, folder); err != nil {
			return err
		}
	}
	if p.Goodput != nil {
		if err := DrawGoodput(p.Goodput.Results, folder, MeasuredPlots); err != nil {
			return err
		}
		if err := updateReadme(filepath.Join(filepath.Dir(docs), "README.md"), p.Goodput.Results); err != nil {
			return err
		}
	}
	if p.Languages != nil {
		if err := DrawGoodput(p.Languages.Results, folder, LanguagePlots); err != nil {
			return err
		}
	}
	text, err := p.render()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(docs, "performance.md"), text, 0o644)
}

func read[T any](to **result.File[T], folder, name string) error {
	var err error
	*to, err = result.Read[T](filepath.Join(folder, name))
	return err
}

// Canned returns the measurements with canned replies; nil if there are none.
func (p page) Canned() *goodput.Results {
	if p.Goodput == nil {
		return nil
	}
	return p.Goodput.Results
}

func (p page) render() ([]byte, error) {
	t, err := template.New("performance.md").Funcs(template.FuncMap{
		"markdown":      func(t table.Writer) string { return t.RenderMarkdown() },
		"overheadTable": overheadTable, "overheadGoalTable": overheadGoalTable, "bucketTable": bucketTable, "bucketGoalTable": bucketGoalTable, "sizeTable": sizeTable, "addedModules": addedModules,
		"checkTable": checkTable, "fleetTable": fleetTable, "serverTable": serverTable, "burstTable": burstTable,
		"spikeTable": spikeTable, "costs": costs, "goodputName": goodputName,
		"measuredGoalTable": measuredGoalTable, "reasons": reasons, "kindTable": kindTable, "measuredBursts": measuredBursts, "stormTable": stormTable,
		"plottedCosts": plottedCosts, "costPlot": costPlot, "condition": conditionOf, "languages": languagesOf,
		"goodputServerTable": goodputServerTable, "agreement": agreement,
		"goalTable": goalTable, "throttlingGoalTable": throttlingGoalTable, "neighbourTable": neighbourTable, "variantTable": variantTable, "selectionTable": selectionTable, "returnTable": returnTable, "togetherTable": togetherTable, "percent": percent,
	}).Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, p); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}
