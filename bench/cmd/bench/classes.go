package main

import (
	"slices"
	"time"

	"mongofork/bench/overload"
)

// The classes of operations that the application marks.
const (
	critical  = "critical"
	normal    = "normal"
	sheddable = "sheddable"
)

// split returns the classes of a load of which shares are critical and normal, and the rest is sheddable.
func split(ofCritical, ofNormal float64) []overload.Class {
	all := []overload.Class{
		{Name: critical, Share: ofCritical, Criticality: 1}, {Name: normal, Share: ofNormal},
		{Name: sheddable, Share: 1 - ofCritical - ofNormal, Criticality: -1},
	}
	return slices.DeleteFunc(all, func(c overload.Class) bool { return c.Share < 0.001 })
}

// The scenarios with classes.
const (
	classesTwice   = "2 ×, 30 % critical"
	classesFour    = "4 ×, 20 % critical"
	classesTen     = "10 ×, 10 % critical"
	classesThree   = "3 ×, 20 % critical, 30 % normal"
	classesHundred = "2 ×, 30 % critical, 100 clients"
	allCritical    = "2 ×, all critical"
	classesBelow   = "50 % of the capacity, 30 % critical"
)

// overloadsInClasses are those in which some operations are critical.
func overloadsInClasses() []string {
	return []string{classesTwice, classesFour, classesTen, classesThree, classesHundred}
}

// marked is the name of a scenario in which 30 % are critical and 30 % normal.
func marked(scenario string) string { return scenario + ", in classes" }

// classes are loads of which the application says what matters.
func (a arms) classes() []entry {
	var entries []entry
	for _, c := range []struct {
		name             string
		load             float64
		clients          int
		critical, normal float64
		seconds          time.Duration
	}{
		{classesTwice, 2, 10, 0.3, 0, 20}, {classesFour, 4, 10, 0.2, 0, 15}, {classesTen, 10, 10, 0.1, 0, 10},
		{classesThree, 3, 10, 0.2, 0.3, 15}, {classesHundred, 2, 100, 0.3, 0, 20},
	} {
		entries = append(entries,
			entry{scenario(c.name, overload.Load{Base: c.load}, c.seconds*time.Second, func(s *overload.Scenario) {
				s.Clients, s.Classes = c.clients, split(c.critical, c.normal)
			}), []arm{a.noRetry, a.prioritized, a.throttled, a.newerThrottled}})
	}
	both := []arm{a.throttled, a.newerThrottled}
	for _, e := range slices.Concat(a.brief(), a.neighbours()) {
		if slices.Contains(comparedInClasses(), e.Name) {
			e.Name, e.Classes, e.arms = marked(e.Name), split(0.3, 0.3), both
			entries = append(entries, e)
		}
	}
	return append(entries,
		entry{scenario(allCritical, overload.Load{Base: 2}, 15*time.Second, func(s *overload.Scenario) { s.Classes = split(1, 0) }),
			both},
		entry{scenario(classesBelow, overload.Load{Base: 0.5}, 10*time.Second, func(s *overload.Scenario) {
			s.Classes = split(0.3, 0.3)
		}), both})
}

// comparedInClasses are the scenarios that are measured with and without classes.
func comparedInClasses() []string {
	return []string{"bursts, " + clients(10), "spike, " + clients(10), "flap", besideNone, besideNone4}
}
