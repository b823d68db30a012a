package series

import "fmt"

// Verified counts the patches of a verified series.
type Verified struct {
	// Applied are all patches.
	Applied int
	// Checked are those after which the tree was checked: the last ones.
	Checked int
}

// String says which commits pass by themselves, and which were not checked.
func (v Verified) String() string {
	switch unchecked := v.Applied - v.Checked; {
	case unchecked == 0:
		return "each commit passes by itself"
	case v.Checked == 0:
		return "no commit was checked by itself"
	default:
		return fmt.Sprintf("each commit from number %d on passes by itself (those before it were only applied)", unchecked+1)
	}
}
