package result

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Setting is the machine and the time of a measurement.
type Setting struct {
	Date       string `json:"date"` // UTC, to the day
	System     string `json:"system"`
	Processor  string `json:"processor"`  // the model, empty if unknown
	Processors int    `json:"processors"` // that the benchmark may use
	Go         string `json:"go"`
	// Load is the machine's load average over the last minute when the measurement began, empty if unknown. It shows how noisy
	// the figures are.
	Load string `json:"load"`
}

// CurrentSetting describes this machine. The root is that of the file system, below which Linux describes it.
func CurrentSetting(root string, now time.Time) *Setting {
	return &Setting{
		Date:       now.UTC().Format(time.DateOnly),
		System:     runtime.GOOS + "/" + runtime.GOARCH,
		Processor:  processor(filepath.Join(root, "proc", "cpuinfo")),
		Processors: runtime.NumCPU(),
		Go:         runtime.Version(),
		Load:       firstField(filepath.Join(root, "proc", "loadavg")),
	}
}

// Machine describes the machine.
func (s *Setting) Machine() string {
	return fmt.Sprintf("%s, %d × %s", s.System, s.Processors, cmp.Or(s.Processor, "unknown processor"))
}

func processor(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(content)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstField(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	field, _, _ := strings.Cut(string(content), " ")
	return strings.TrimSpace(field)
}
