package driver

// union returns the labels with more of them, each once. Nothing limits how many a server sends.
func union(labels, more []string) []string {
	if len(more) == 0 {
		return labels
	}
	known := make(map[string]bool, len(labels)+len(more))
	for _, label := range labels {
		known[label] = true
	}
	for _, label := range more {
		if !known[label] {
			known[label] = true
			labels = append(labels, label)
		}
	}
	return labels
}
