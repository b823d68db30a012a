package event

// Criticality says how much an application needs an operation, see mongo.NewCriticalityContext.
type Criticality int8

// The classes of operations. An unknown value stands for CriticalityNormal.
const (
	// CriticalitySheddable is background work that can be done later or not at all. An overloaded client withholds it first.
	CriticalitySheddable Criticality = iota - 1
	// CriticalityNormal is what is not marked.
	CriticalityNormal
	// CriticalityCritical is what users wait for. It is withheld last. If everything is critical, nothing is.
	CriticalityCritical
)

// String returns the name of the class, as in log lines: "sheddable", "normal" or "critical".
func (c Criticality) String() string {
	switch c {
	case CriticalitySheddable:
		return "sheddable"
	case CriticalityCritical:
		return "critical"
	default:
		return "normal"
	}
}
