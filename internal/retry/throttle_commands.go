package retry

import (
	"math"
	"time"
)

// Command is what a command is and where it goes. A server may reject one kind, or one collection, and accept all others.
type Command struct{ Name, Database, Collection string }

// Exemption is from being held back, for commands that the server accepts while it rejects others: of which it accepted at least the
// Share, unless chance explains that, because as many of the others would all be accepted with a probability of at least Chance.
type Exemption struct {
	Share, Chance float64
	// Trials attempts of each command are exempt at first, and AllTrials of all, if there are others to compare them with.
	Trials, AllTrials int
	// Memory is the time in which the weight of an attempt falls to 1/e.
	Memory time.Duration
}

func defaultExemption() Exemption {
	return Exemption{Share: 0.97, Chance: 0.01, Trials: 4, AllTrials: 16, Memory: 10 * time.Second}
}

// maxCommands bounds what is remembered: nothing is known of what is beyond it, until others have not been seen for three times the Memory.
// Names alone have as many places of their own.
const maxCommands = 256

// commandCounts counts what was sent, by command.
type commandCounts struct {
	all     counts
	command map[Command]*commandCount
	trials  int
	tidied  time.Time // when the oldest were forgotten
}

type commandCount struct {
	counts
	trials int
}

// of returns the count of a command, or nil if there is no place for it.
func (c *commandCounts) of(command Command, now time.Time, rule Exemption) *commandCount {
	if known := c.command[command]; known != nil {
		return known
	}
	places := maxCommands
	if command.Database == "" {
		places *= 2
	}
	if len(c.command) >= places && now.Sub(c.tidied) > 3*rule.Memory {
		c.tidied = now
		for other, known := range c.command {
			if now.Sub(known.at) > 3*rule.Memory {
				delete(c.command, other)
			}
		}
	}
	if len(c.command) >= places {
		return nil
	}
	if c.command == nil {
		c.command = make(map[Command]*commandCount)
	}
	c.command[command] = &commandCount{counts: counts{at: now}}
	return c.command[command]
}

// keys returns by what a command is counted: both its name and collection, and each. Of many collections, one alone says too little.
func (c Command) keys() [3]Command {
	return [3]Command{c, {Name: c.Name}, {Database: c.Database, Collection: c.Collection}}
}

// add records the end of an attempt that was sent, unless it was for a connection.
func (c *commandCounts) add(command Command, accepted bool, now time.Time, rule Exemption) {
	if command == (Command{}) {
		return
	}
	for _, key := range command.keys() {
		if known := c.of(key, now, rule); known != nil {
			known.decay(now, rule.Memory)
			known.add(accepted)
		}
	}
	c.all.decay(now, rule.Memory)
	c.all.add(accepted)
}

// exempts reports whether an attempt that would be held back is sent because of its command.
func (c *commandCounts) exempts(command Command, now time.Time, rule Exemption) bool {
	for _, key := range command.keys() {
		if known := c.of(key, now, rule); known != nil && c.proven(known, now, rule) {
			return true
		}
	}
	known := c.of(command, now, rule)
	if known == nil || known.trials >= rule.Trials || c.trials >= rule.AllTrials ||
		(known.attempts > 0 && c.all.attempts-known.attempts < 1) { // there is nothing to compare with
		return false
	}
	known.trials++
	c.trials++
	return true
}

// proven reports whether the server accepts what is counted here while it rejects the rest.
func (c *commandCounts) proven(known *commandCount, now time.Time, rule Exemption) bool {
	known.decay(now, rule.Memory)
	c.all.decay(now, rule.Memory)
	others := counts{attempts: c.all.attempts - known.attempts, accepted: c.all.accepted - known.accepted}
	if known.accepted < rule.Share*known.attempts || others.attempts < 1 { // there is nothing to compare with
		return false
	}
	accepted := (others.accepted + 0.5) / (others.attempts + 1)
	return math.Pow(accepted, known.attempts) < rule.Chance
}
