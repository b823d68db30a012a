package event

// Criticality says how much an application needs an operation, see mongo.NewCriticalityContext.
type Criticality int8

// The classes of operations, see mongo.Sheddable, mongo.Normal and mongo.Critical. An unknown value stands for CriticalityNormal.
const (
	CriticalitySheddable Criticality = iota - 1 // so that the zero value is normal
	CriticalityNormal
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
