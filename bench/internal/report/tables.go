package report

import (
	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
	"mongofork/bench/internal/overhead"
	"mongofork/bench/internal/result"
	"mongofork/bench/internal/sim"
)

// tables returns what makes each table, by its name, as far as there are results.
func (r *results) tables() map[string]func() table.Writer {
	all := map[string]func() table.Writer{
		"conditions":       r.conditionTable,
		"goals cost":       func() table.Writer { return goalTable(r.costGoals(), false) },
		"goals throttling": func() table.Writer { return goalTable(throttlingGoals(r.throttlingEvidence()), true) },
	}
	for _, base := range bases() {
		if f := r.overhead[base]; f != nil {
			for name, unit := range overheadUnits() {
				all["overhead "+base+" "+name] = func() table.Writer { return overheadTable(f.Results, unit) }
			}
		}
		if f := r.overheadServer[base]; f != nil {
			all["overhead "+base+" server"] = func() table.Writer { return overheadTable(f.Results.Results, overhead.Time) }
		}
	}
	if r.bucket != nil {
		all["bucket"] = func() table.Writer { return bucketTable(r.bucket.Results) }
	}
	if r.size != nil {
		all["size"] = func() table.Writer { return sizeTable(r.size.Results) }
	}
	addGoodput(all, "goodput", r.goodput)
	addGoodput(all, "languages", r.languages)
	if r.goodputServer != nil {
		all["goodput server"] = func() table.Writer { return runTable(r.goodputServer.Results.Runs) }
	}
	r.addSimulations(all)
	return all
}

func overheadUnits() map[string]string {
	return map[string]string{
		"time": overhead.Time, "processor time": overhead.ProcessorTime, "allocations": overhead.Allocations, "bytes": overhead.Bytes,
	}
}

// costGoals are the goals where all is well.
func (r *results) costGoals() []goal {
	var all []goal
	for _, base := range bases() {
		if f := r.overhead[base]; f != nil {
			all = append(all, overheadGoals(base, f)...)
		}
	}
	if r.bucket != nil {
		all = append(all, bucketGoals(r.bucket)...)
	}
	return all
}

func (r *results) throttlingEvidence() evidence {
	e := evidence{measured: r.goodput}
	if r.throttling != nil {
		e.simulated = r.throttling.Results
	}
	return e
}

// addGoodput adds the tables of measurements under overload.
func addGoodput(all map[string]func() table.Writer, prefix string, f *result.File[*goodput.Results]) {
	if f == nil {
		return
	}
	for _, kind := range goodput.Kinds() {
		all[prefix+" "+kind] = func() table.Writer { return kindTable(f.Results, kind) }
	}
	all[prefix+" storm"] = func() table.Writer { return stormTable(f.Results) }
	all[prefix+" summary"] = func() table.Writer { return summaryTable(f.Results) }
	if prefix == "goodput" {
		all["goals tokens"] = func() table.Writer { return goalTable(tokenGoals(f), false) }
	}
}

func (r *results) addSimulations(all map[string]func() table.Writer) {
	if r.simulation != nil {
		s := r.simulation.Results
		for name, results := range map[string][]sim.Result{
			"check": s.Check, "load": s.Load, "servers": s.Servers, "members": s.Members, "together": s.Together, "bursts": s.Bursts,
			"goals": s.Goals, "fleet": s.Fleet,
		} {
			all["simulation "+name] = func() table.Writer { return simTable(results) }
		}
		all["simulation spike"] = func() table.Writer { return simSpikeTable(s) }
		all["simulation return"] = func() table.Writer { return returnTable(s) }
	}
	if r.throttling != nil {
		all["throttling trials"] = func() table.Writer { return trialTable(r.throttling.Results) }
		all["throttling variants"] = func() table.Writer { return variantTable(r.throttling.Results) }
	}
}

// conditionTable says by what command, when and where everything was measured.
func (r *results) conditionTable() table.Writer {
	t := newTable("what", "command", "date", "machine", "Go", "load at the start")
	for _, base := range bases() {
		addCondition(t, "cost of the fork of "+base, r.overhead[base])
		addCondition(t, "the same on a real server", r.overheadServer[base])
	}
	addCondition(t, "token bucket", r.bucket)
	addCondition(t, "size", r.size)
	addCondition(t, "overload", r.goodput)
	addCondition(t, "the same before a real server", r.goodputServer)
	addCondition(t, "drivers of other languages", r.languages)
	return t
}

func addCondition[T any](t table.Writer, what string, f *result.File[T]) {
	if f != nil {
		t.AppendRow(table.Row{what, "`" + f.Command + "`", f.Setting.Date, f.Setting.Machine(), f.Setting.Go, f.Setting.Load})
	}
}
