package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"mongofork/bench/internal/goodput"
)

// The goals other than shares of goodput.
const (
	commandsAtTwice     = 1.15
	commandsAtFourTimes = 1.05
	burstErrors         = 0.25 // of those without retries
	spikeErrors         = 1.15 // of those without retries
	recoveryDelay       = 500 * time.Millisecond
	memberSuccess       = 0.99
	memberCommands      = 1.1
)

// goal is a goal for adaptiveRetries and what was measured for it.
type goal struct {
	what, wanted, measured string
	met                    string
	why                    string // it was not met, if that is known; empty if it was
}

// goals collects the goals that something was measured for.
type goals struct {
	*goodput.Results
	all []goal
}

func goalsOf(r *goodput.Results) []goal {
	g := &goals{Results: r}
	g.commands()
	g.sustained()
	g.bursts()
	g.spike()
	g.member()
	g.storm()
	return g.all
}

// measuredGoalTable has a row for each goal.
func measuredGoalTable(r *goodput.Results) table.Writer {
	t := newTable("goal for adaptiveRetries", "wanted", "measured", "met")
	for _, g := range goalsOf(r) {
		t.AppendRow(table.Row{g.what, g.wanted, g.measured, g.met})
	}
	return t
}

// reasons returns why goals were not met, each reason once.
func reasons(r *goodput.Results) []string {
	var all []string
	for _, g := range goalsOf(r) {
		if g.why != "" && !slices.Contains(all, g.why) {
			all = append(all, g.why)
		}
	}
	return all
}

// add adds a goal. The distance is how far what was measured is from it.
func (g *goals) add(what, wanted, measured string, ok bool, distance float64, format, why string) {
	if ok {
		why = ""
	}
	g.all = append(g.all, goal{what, wanted, measured, met(ok, distance, format), why})
}

// atMost adds a goal that is an upper bound of a median over seeds.
func (g *goals) atMost(what string, want float64, got []float64, why string) {
	middle := median(got)
	g.add(what+ofSeeds(got), fmt.Sprintf("at most %.2f", want), medianAndRange(got, "%.3f"), middle <= want, middle-want, "%.3f", why)
}

// atLeast adds a goal that is a lower bound of a median over seeds.
func (g *goals) atLeast(what string, want float64, got []float64, why string) {
	middle := median(got)
	g.add(what+ofSeeds(got), fmt.Sprintf("at least %.2f", want), medianAndRange(got, "%.3f"), middle >= want, middle-want, "%.3f", why)
}

// ofSeeds describes a goal's figure if there are several runs.
func ofSeeds(got []float64) string {
	if len(got) == 1 {
		return ""
	}
	return fmt.Sprintf("; median of %d seeds", len(got))
}

// whySpent is why a lasting overload costs the bucket more than allowed.
const whySpent = "A success earns a tenth of a token, so up to a tenth of the successes may be followed by a retry that the server rejects. " +
	"The dearer a rejection is, and the less the load exceeds the capacity, the more of the goodput these retries take."

func (g *goals) commands() {
	for _, runs := range grouped(ofKind(g.Results, goodput.Sustained, goodput.Drained)) {
		load, cost := runs[0].Plan.Load.Base, runs[0].RejectionCost
		want := map[float64]float64{2: commandsAtTwice, 4: commandsAtFourTimes}[load]
		if want > 0 && cost == 0.1 {
			what := fmt.Sprintf("commands per operation at %v × the capacity, tokens spent", load)
			g.atMost(what, want, values(runs, goodput.Run.CommandsPerOperation), whySpent)
		}
	}
}

// sustained compares the goodput with that without retries, where there is any.
func (g *goals) sustained() {
	const least, cheap = 0.01, 0.05
	for _, runs := range grouped(ofKind(g.Results, goodput.Sustained, goodput.Drained)) {
		load, cost := runs[0].Plan.Load.Base, runs[0].RejectionCost
		if cost < cheap || median(values(withoutRetries(g.Results, runs), goodput.Run.Goodput)) < least {
			continue
		}
		what := fmt.Sprintf("goodput at %v × the capacity, rejection cost %s, of that without retries", load, percent(cost))
		g.atLeast(what, goodputGoal(cost), ratios(g.Results, runs, goodput.Run.Goodput), whySpent)
	}
}

// freshArms are the arms whose clients start with all their tokens, and how many clients that are.
func freshArms() [][2]string {
	return [][2]string{{goodput.Adaptive, "; 10 clients"}, {goodput.Single, "; 1 client"}}
}

func (g *goals) bursts() {
	for _, arm := range freshArms() {
		for _, runs := range grouped(ofKind(g.Results, goodput.Bursts, arm[0])) {
			g.atMost("errors in short bursts, of those without retries"+arm[1], burstErrors, ratios(g.Results, runs, goodput.Run.Errors),
				"In short bursts the tokens are spent before the bursts end.")
		}
	}
}

// whyFull is why a spike is met as without a bucket.
const whyFull = "A bucket limits nothing until its tokens are spent, and every spike that is shorter than that meets five retries. How " +
	"many tokens a client begins with is in the specification; how many seconds of the capacity they are, is up to the number of clients."

func (g *goals) spike() {
	for _, arm := range freshArms() {
		for _, runs := range grouped(ofKind(g.Results, goodput.Spike, arm[0])) {
			g.atMost("errors in a long spike, of those without retries"+arm[1], spikeErrors,
				ratios(g.Results, runs, goodput.Run.Errors), whyFull)
			g.recovery("recovery after a long spike, compared with no retry"+arm[1], runs)
		}
	}
}

// recovery compares how long runs take to recover.
func (g *goals) recovery(what string, runs []goodput.Run) {
	delays := values(runs, recoverySeconds)
	for i, without := range withoutRetries(g.Results, runs) {
		delays[i] -= recoverySeconds(without)
	}
	middle := median(delays)
	late := middle - recoveryDelay.Seconds()
	measured := strings.ReplaceAll(medianAndRange(delays, "%.1f s"), "+Inf s", "never")
	g.add(what+ofSeeds(delays), fmt.Sprintf("at most %.1f s later", recoveryDelay.Seconds()), measured,
		late <= 0, late, "%.1f s", whyFull)
}

// recoverySeconds returns how long a run took to recover, or infinity.
func recoverySeconds(r goodput.Run) float64 {
	after, ok := runRecovery(r)
	if !ok {
		return math.Inf(1)
	}
	return after.Seconds()
}

func (g *goals) member() {
	for _, runs := range grouped(ofKind(g.Results, goodput.Member, goodput.Adaptive)) {
		load, failing := runs[0].MemberLoad(), median(values(withoutRetries(g.Results, runs), goodput.Run.Errors))
		what := fmt.Sprintf("one of %d members gets %.2f × what it admits: ", runs[0].Members, load)
		why := fmt.Sprintf("At %.2f × what the member admits, %.1f %% of the operations fail without retries. Each of them takes a second "+
			"command, or more: that makes about %.2f commands per operation, unless the client had learned of the overload by other operations "+
			"just before and chose another member.",
			load, 100*failing, 1+failing)
		succeeded := func(r goodput.Run) float64 { return 1 - r.Errors() }
		g.atLeast(what+"share of reads that succeed", memberSuccess, values(runs, succeeded), why)
		g.atMost(what+"commands per operation", memberCommands, values(runs, goodput.Run.CommandsPerOperation), why)
	}
}
