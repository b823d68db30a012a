package report

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/chart"
	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/sim"
	"mongofork/bench/internal/size"
	"mongofork/bench/internal/study"
	"mongofork/bench/internal/throttle"
)

// The files of results, in the folder of the plots, beside OverheadFile and OverheadServerFile.
const (
	BucketFile        = "bucket" + result.Extension
	SizeFile          = "size" + result.Extension
	GoodputFile       = "goodput" + result.Extension
	GoodputServerFile = "goodput-server" + result.Extension
	GoodputFleetsFile = "goodput-fleets" + result.Extension
	LanguagesFile     = "languages" + result.Extension
	SimulationFile    = "simulation" + result.Extension
	ThrottlingFile    = "simulation-throttling" + result.Extension
)

// OverheadFile is the file of results for the fork of a base on the canned server.
func OverheadFile(base string) string { return "overhead-" + base + result.Extension }

// OverheadServerFile is the same for a real server.
func OverheadServerFile(base string) string { return "overhead-server-" + base + result.Extension }

// book is the tables and plots of all existing results, by name.
type book struct {
	tables map[string]table.Writer
	charts map[string]chart.Chart
	// conditions lists the command, time and place of each measurement.
	conditions table.Writer
	costs      []goal
	throttling evidence
}

func readAll(folder string) (*book, error) {
	b := &book{
		tables: map[string]table.Writer{}, charts: map[string]chart.Chart{},
		conditions: newTable("what", "command", "date", "machine", "Go", "load at the start"),
	}
	var errs []error
	for _, base := range []string{goodput.Base, goodput.Later} {
		canned := func(f *result.File[*overhead.Results]) { b.addOverhead(base, f) }
		server := func(f *result.File[*overhead.ServerResults]) {
			b.tables["overhead "+base+" server"] = overheadTable(f.Results.Results, overhead.Time)
		}
		errs = append(errs, read(b, folder, OverheadFile(base), "cost of the fork of "+base, canned),
			read(b, folder, OverheadServerFile(base), "the same on a real server", server))
	}
	errs = append(errs,
		read(b, folder, BucketFile, "token bucket", func(f *result.File[[]*throttle.Row]) {
			b.tables["bucket"], b.costs = bucketTable(f.Results), append(b.costs, bucketGoals(f)...)
		}),
		read(b, folder, SizeFile, "size", func(f *result.File[[]*size.Program]) { b.tables["size"] = sizeTable(f.Results) }),
		read(b, folder, GoodputFile, "overload", b.addGoodput),
		read(b, folder, GoodputFleetsFile, "the same with one client and a hundred", func(f *result.File[*goodput.Results]) {
			b.addKinds("fleets", f.Results)
			b.throttling.runs = slices.Concat(b.throttling.runs, f.Results.Runs)
		}),
		read(b, folder, GoodputServerFile, "the same before a real server", func(f *result.File[*goodput.ServerResults]) {
			b.tables["goodput server"] = runTable(f.Results.Runs)
		}),
		read(b, folder, LanguagesFile, "drivers of other languages", func(f *result.File[*goodput.Results]) {
			b.throttling.peers = f.Results.Storms
			b.addKinds("languages", f.Results)
			b.charts["languages"] = loadChart(f.Results, goodputTitle, inPercent)
		}),
		read(b, folder, SimulationFile, "", b.addSimulation),
		read(b, folder, ThrottlingFile, "", func(f *result.File[*study.Throttling]) {
			b.throttling.simulated = f.Results
			b.tables["throttling trials"], b.tables["throttling variants"] = trialTable(f.Results), variantTable(f.Results)
		}))
	b.tables["conditions"] = b.conditions
	b.tables["goals cost"] = goalTable(b.costs, false)
	b.tables["goals throttling"] = goalTable(throttlingGoals(b.throttling), true)
	return b, cmp.Or(errs...)
}

// read adds the results of a file, if it exists, and the conditions if they matter.
func read[T any](b *book, folder, name, what string, add func(*result.File[T])) error {
	f, err := result.Read[T](filepath.Join(folder, name))
	if err != nil || f == nil {
		return err
	}
	if s := f.Setting; s != nil {
		b.conditions.AppendRow(table.Row{what, "`" + f.Command + "`", s.Date, s.Machine(), s.Go, s.Load})
	}
	add(f)
	return nil
}

func (b *book) addOverhead(base string, f *result.File[*overhead.Results]) {
	b.costs = append(b.costs, overheadGoals(base, f)...)
	for name, unit := range map[string]string{
		"time": overhead.Time, "processor time": overhead.ProcessorTime, "allocations": overhead.Allocations, "bytes": overhead.Bytes,
	} {
		b.tables["overhead "+base+" "+name] = overheadTable(f.Results, unit)
	}
}

const goodputTitle = "goodput, % of the capacity"

func (b *book) addGoodput(f *result.File[*goodput.Results]) {
	b.throttling.runs, b.throttling.storms = f.Results.Runs, f.Results.Storms
	b.addKinds("goodput", f.Results)
	b.tables["goodput summary"] = summaryTable(f.Results)
	b.tables["goals tokens"] = goalTable(tokenGoals(f), false)
	b.charts["goodput"] = loadChart(f.Results, goodputTitle, inPercent)
	b.charts["commands"] = loadChart(f.Results, "commands that reach the server, × its capacity", received)
	b.charts["spike"] = spikeChart(f.Results)
}

// addKinds adds a table for each kind of scenario, and that of the storm if there is one.
func (b *book) addKinds(prefix string, r *goodput.Results) {
	for _, kind := range goodput.Kinds() {
		if runs := where(r.Runs, func(run goodput.Run) bool { return run.Kind == kind }); len(runs) > 0 {
			b.tables[prefix+" "+kind] = runTable(runs)
		}
	}
	if len(r.Storms) > 0 {
		b.tables[prefix+" storm"] = stormTable(r)
	}
}

func (b *book) addSimulation(f *result.File[*study.Study]) {
	s := f.Results
	for name, results := range map[string][]sim.Result{
		"check": s.Check, "goals": s.Goals, "servers": s.Servers, "members": s.Members, "together": s.Together,
		"fleet": s.Fleet, "bursts": s.Bursts,
	} {
		b.tables["simulation "+name] = simTable(results)
	}
	b.tables["simulation load"] = loadTable(s)
	b.tables["simulation spike"], b.tables["simulation return"] = simSpikeTable(s), returnTable(s)
	b.charts["fleet"] = fleetChart(s)
}
