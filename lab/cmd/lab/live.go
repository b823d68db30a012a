package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/metrics"
)

const (
	redrawInterval = time.Second
	lineInterval   = 10 * time.Second // where there is nothing to redraw
)

// show reports the counts until the context ends: as a table if it can be redrawn, otherwise as lines.
func show(ctx context.Context, l *deployment.Lab, out io.Writer) {
	redraws := isTerminal(out)
	interval := lineInterval
	if redraws {
		interval = redrawInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last, drawn := l.Metrics().Counts(), 0
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		counts := l.Metrics().Counts()
		rows := rates(l, counts, last, interval)
		last = counts
		if !redraws {
			writeLines(out, rows)
			continue
		}
		rendered := render(rows)
		fmt.Fprint(out, strings.Repeat(text.CursorUp.Sprint()+text.EraseLine.Sprint(), drawn), rendered, "\n")
		drawn = strings.Count(rendered, "\n") + 1
	}
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// row is a front's activity in the last interval, per second, without hellos.
type row struct {
	host, role, fault                            string
	received, admitted, rejected, errors, closed float64
	latency                                      time.Duration // mean
}

// rates compares the counts of two times.
func rates(l *deployment.Lab, now, before []metrics.Counts, interval time.Duration) []row {
	faults, rows := l.Faults(), []row(nil)
	roles := l.Cluster().Status().Members
	for front, member := range roles {
		a, b := metrics.Total(now, front), metrics.Total(before, front)
		perSecond := func(a, b int64) float64 { return float64(a-b) / interval.Seconds() }
		r := row{
			host: member.Host, role: string(member.Role), fault: string(faults[front].Kind),
			received: perSecond(a.Received, b.Received), admitted: perSecond(a.Admitted, b.Admitted),
			rejected: perSecond(a.Rejected, b.Rejected), errors: perSecond(a.Errors, b.Errors),
			closed: perSecond(a.Closed, b.Closed),
		}
		if answered := a.Answered() - b.Answered(); answered > 0 {
			r.latency = (a.Latency - b.Latency) / time.Duration(answered)
		}
		rows = append(rows, r)
	}
	return rows
}

func render(rows []row) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"front", "role", "fault", "received/s", "admitted", "rejected", "errors", "closed", "latency"})
	for _, r := range rows {
		t.AppendRow(table.Row{
			r.host, r.role, r.fault, whole(r.received), whole(r.admitted), whole(r.rejected), whole(r.errors), whole(r.closed),
			r.latency.Round(time.Microsecond),
		})
	}
	var numeric []table.ColumnConfig
	for column := 4; column <= 9; column++ {
		numeric = append(numeric, table.ColumnConfig{Number: column, Align: text.AlignRight})
	}
	t.SetColumnConfigs(numeric)
	return t.Render()
}

func whole(n float64) string { return fmt.Sprintf("%.0f", n) }

// writeLines writes a line for each active front.
func writeLines(out io.Writer, rows []row) {
	busy := slices.DeleteFunc(rows, func(r row) bool { return r.received == 0 && r.fault == "off" })
	for _, r := range busy {
		fmt.Fprintf(out, "%s %s %s: %.1f received/s, %.1f admitted, %.1f rejected, %.1f errors, %.1f closed, mean %v\n",
			time.Now().Format(time.TimeOnly), r.host, strings.TrimSpace(r.role+" fault "+r.fault),
			r.received, r.admitted, r.rejected, r.errors, r.closed, r.latency.Round(time.Microsecond))
	}
}
