package main

import "strings"

// goal is a row of docs/performance/goals.md.
type goal struct {
	what, wanted string
	format       string
	of           figure
	forks        [2]arm // of the older and the newer base
	scenarios    []string
}

// goalTable has a row for each goal: a figure in its scenarios, with the driver that does not retry and the fork of both bases.
func (a arms) goalTable(goals []goal, all measured) string {
	rows := [][]string{{"what", "wanted", a.noRetry.name, "fork of " + a.fork.base, "fork of " + a.newerFork.base}}
	for _, g := range goals {
		row := []string{g.what + ": " + strings.Join(g.scenarios, "; "), g.wanted}
		for _, arm := range []arm{a.noRetry, g.forks[0], g.forks[1]} {
			var cells []string
			for _, scenario := range g.scenarios {
				cells = append(cells, formatted(g.format, all.get(scenario, arm, g.of)))
			}
			row = append(row, strings.Join(cells, "; "))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// each returns the names of scenarios.
func each[T any](of func(T) string, numbers ...T) []string {
	names := make([]string, len(numbers))
	for i, n := range numbers {
		names[i] = of(n)
	}
	return names
}

// cheap and costly are overloads that last, in which a rejection costs a tenth and a half of an operation.
func cheap(load float64) string  { return lastingAt(load, 0.1) }
func costly(load float64) string { return lastingAt(load, 0.5) }

func bursts(n int) string { return "bursts, " + clients(n) }
func spike(n int) string  { return "spike, " + clients(n) }

// tokenGoals are those of adaptiveRetries.
func (a arms) tokenGoals() []goal {
	full, spent := [2]arm{a.full, a.newerFull}, [2]arm{a.spent, a.newerSpent}
	brief, oneMember, storm := []int{10, 1}, each(oneOfThree, 1.25, 2, 4), []string{"storm"}
	return []goal{
		{"commands per operation, tokens spent", "at most 1.15; 1.05", "%.2f", commands, spent, each(cheap, 2, 4)},
		{"goodput, %, tokens spent", "at least 95 % of the first column", "%.1f", goodput, spent, each(cheap, 1.1, 1.5, 2, 4)},
		{"the same", "at least 85 % of it", "%.1f", goodput, spent, each(costly, 1.1, 1.5, 2)},
		{"errors, %", "at most a quarter", "%.1f", failures, full, each(bursts, brief...)},
		{"errors, %", "at most 1.15 times as many", "%.1f", failures, full, each(spike, brief...)},
		{"seconds after it until nine tenths succeed", "at most 0.5 more", "%.1f", recovery, full, each(spike, brief...)},
		{"reads that succeed, %", "at least 99", "%.2f", success, full, oneMember},
		{"commands per operation", "at most 1.1", "%.3f", commands, full, oneMember},
		{"clients that do not connect", "0", "%.0f", unconnected, full, storm},
		{"pools cleared", "0", "%.0f", cleared, full, storm},
	}
}

// throttlingGoals are those of adaptiveThrottling.
func (a arms) throttlingGoals() []goal {
	throttled, retrying := [2]arm{a.throttled, a.newerThrottled}, [2]arm{a.fork, a.newerFork}
	fleets := append(each(clients, 1, 10, 100), fastServer)
	brief, oneMember, storm := []int{1, 10, 100}, each(oneOfThree, 1.25, 2, 4), []string{"storm"}
	neighbours := []string{besideNone, besideRetry}
	return []goal{
		{"goodput, %", "at least 95; 95; 97; 97; 96.5", "%.1f", goodput, throttled, each(cheap, 1.1, 1.5, 2, 4, 10)},
		{"the same", "at least 97; 97; 96.5", "%.1f", goodput, throttled, each(minute, 2, 4, 10)},
		{"the same", "at least 95; 87", "%.1f", goodput, throttled, []string{lastingAt(10, 0.02), costly(2)}},
		{"commands per operation", "at most 0.7; 0.48; 0.36", "%.2f", commands, throttled, each(cheap, 2, 4, 10)},
		{"goodput from the first second on, 2 ×, %", "at least 93; 93; 94; 93", "%.1f", goodput, throttled, fleets},
		{"fairness in it", "at least 0.9", "%.2f", fairness, throttled, fleets},
		{"errors, %", "at most 2.6; 0.7, or 9.6 with two retries; 4, or 9", "%.1f", failures, throttled, each(bursts, brief...)},
		{"errors, %", "at most 46", "%.1f", failures, throttled, each(spike, brief...)},
		{"seconds after it until nine tenths succeed", "at most 1", "%.1f", recovery, throttled, each(spike, brief...)},
		{"seconds after it until all succeed", "at most 1", "%.1f", lastError, throttled, each(spike, brief...)},
		{"errors, %", "no more", "%.1f", failures, throttled, []string{"flap", "95 %", jump}},
		{"goodput, %", "at least 82; with two retries 70", "%.1f", goodput, throttled, []string{"flap"}},
		{"median latency of what succeeds, s", "at most 0.13", "%.2f", p50, throttled, []string{cheap(2)}},
		{"99th percentile, s", "at most 0.96", "%.2f", p99, throttled, []string{cheap(2)}},
		{"commands per operation", "at most 1.15", "%.2f", commands, throttled, []string{"95 %"}},
		{"goodput if the other half throttles, %", "at least the next row's", "%.1f", goodput, throttled, neighbours},
		{"goodput if it retries, %", "-", "%.1f", goodput, retrying, neighbours},
		{"own success, of the neighbours'", "at least 0.6, at a goodput of 93; 0.65", "%.2f", ownShare, throttled,
			[]string{besideNone, besideNone4}},
		{"others that succeed, %, 100 a second", "at least 95; 95; 80; 93; 80", "%.1f", classSuccess(served), throttled,
			[]string{hot7, hot15, hot30, random20, critical30}},
		{"the same, 20 a second", "at least 85; 70; 83", "%.1f", classSuccess(served), throttled,
			[]string{oneHot15, oneHot30, oneRandom20}},
		{"others that succeed, %", "at least 99", "%.1f", classSuccess(served), throttled, []string{writes30, writes300}},
		{"goodput, %", "at least 88.5; 66.5; 89; 88.5", "%.1f", goodput, throttled, []string{routers2, routers4, tight, slow}},
		{"errors, %", "at most 18.5; 50", "%.1f", failures, throttled, []string{tightBursts, slowSpike}},
		{"goodput, %", "at least 92; 2 more; 96", "%.1f", goodput, throttled, []string{getMores, transactions, unlabelled}},
		{"others that succeed, %", "at least 12", "%.1f", classSuccess(served), throttled, []string{getMores}},
		{"operations in progress", "at most 100; 1500", "%.0f", inProgress, throttled, []string{cheap(2), limited}},
		{"goodput, %", "no less", "%.1f", goodput, throttled, []string{afterOutage}},
		{"connections", "at most 1500", "%.0f", opened, throttled, []string{herd}},
		{"goodput, %", "no less", "%.1f", goodput, throttled, []string{besideLarge, together}},
		{"fairness", "at least 0.9", "%.2f", fairness, throttled, []string{besideLarge}},
		{"reads that succeed, %", "100", "%.1f", classSuccess(served), throttled, []string{secondaries}},
		{"errors, %", "no more", "%.1f", failures, throttled, []string{idle}},
		{"reads that succeed, %", "at least 99.9", "%.2f", success, throttled, oneMember},
		{"commands per operation", "at most 1.03", "%.3f", commands, throttled, oneMember},
		{"seconds until all are connected", "as fast as upstream", "%.1f", lastClient, throttled, storm},
		{"pools cleared", "0", "%.0f", cleared, throttled, storm},
		{"errors", "at most 20", "%.0f", stormErrors, throttled, storm},
	}
}

// classGoals are those of adaptiveThrottling for an application that says what matters.
func (a arms) classGoals() []goal {
	throttled := [2]arm{a.throttled, a.newerThrottled}
	const succeed = " operations that succeed, %"
	without := comparedInClasses()
	within := each(marked, without...)
	return []goal{
		{critical + succeed, "at least 98.8; 99.5; 92.1; 98; 90.5, or with two retries 98.8; 97; 91; 98; 90", "%.1f",
			classSuccess(critical), throttled, overloadsInClasses()},
		{"their 99th percentile, s", "at most 1.2", "%.2f", classP99(critical), throttled, []string{classesTwice}},
		{normal + succeed, "at least 60", "%.1f", classSuccess(normal), throttled, []string{classesThree}},
		{"goodput, %", "at least 95.5; 94; 91", "%.1f", goodput, throttled, []string{classesTwice, classesFour, classesHundred}},
		{"goodput, %, all critical and unmarked", "the same", "%.1f", goodput, throttled, []string{allCritical, clients(10)}},
		{"operations that fail, %", "0", "%.1f", failures, throttled, []string{classesBelow}},
		{"unmarked" + succeed, "-", "%.1f", func(r result) float64 { return r.Own }, throttled, without},
		{critical + succeed, "at least as many", "%.1f", classSuccess(critical), throttled, within},
		{normal + succeed, "at least as many", "%.1f", classSuccess(normal), throttled, within},
		{"others that fail after the first second, %", "0", "%.1f", others, throttled,
			each(rejectedShare.name, allRejectedShares()...)},
	}
}
