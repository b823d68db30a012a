package soak

// Kinds returns the kinds of violations that runs look for, the gravest for an application first.
func Kinds() []string {
	return []string{
		"acknowledged writes that are not there",
		"writes that were done more than once",
		"writes that nobody made",
		"results that are wrong",
		"transactions that were half done",
		"sums that are wrong",
		"registers that are not linearizable",
		"registers that took too long to check",
		"sessions that do not read their writes",
		"sessions whose reads go back",
		"events that came twice",
		"events out of order",
		"inserts without an event",
		"change streams that end early",
		"cursors that repeat themselves",
		"cursors that lack an acknowledged write",
		"files that are not whole",
		"operations of more than 6 commands",
		"operations that the server never saw",
		"errors that are not documented",
		"connections that were leaked",
		"goroutines that were leaked",
	}
}
