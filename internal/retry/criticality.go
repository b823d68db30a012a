package retry

// Criticality is how much the application needs a command: of what is not sent, the least critical is first.
type Criticality int8

// The classes, from what is held back first to what is held back last. What is not marked is Normal.
const (
	Sheddable Criticality = iota - 1
	Normal
	Critical
)

// classes is the number of classes.
const classes = int(Critical-Sheddable) + 1

// class numbers the classes from the least critical, 0.
func (c Criticality) class() int { return int(c - Sheddable) }
