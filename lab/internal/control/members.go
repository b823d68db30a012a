package control

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"mongofork/lab/internal/deployment"
	"mongofork/lab/internal/members"
)

// setOf returns the real members behind a lab.
func setOf(l *deployment.Lab) (*members.Set, error) {
	if l.Members() == nil {
		return nil, fmt.Errorf("the lab makes its members of one server; start it with --topology members")
	}
	return l.Members(), nil
}

func actOnMember(l *deployment.Lab, r *http.Request) (any, error) {
	set, err := setOf(l)
	if err != nil {
		return nil, err
	}
	member, err := numberOf(r, "member")
	if err != nil {
		return nil, err
	}
	if err := set.Process(r.Context(), member, members.Action(r.PathValue("action"))); err != nil {
		return nil, err
	}
	return statusOf(l), nil
}

func partition(l *deployment.Lab, r *http.Request) (any, error) {
	set, err := setOf(l)
	if err != nil {
		return nil, err
	}
	var cut []int
	for text := range strings.SplitSeq(r.FormValue("members"), ",") {
		if text == "" {
			continue
		}
		member, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("members=%q: give numbers such as 0,2", r.FormValue("members"))
		}
		cut = append(cut, member)
	}
	duration, err := durationOf(r, "for", 0)
	if err != nil {
		return nil, err
	}
	if err := set.Partition(cut, duration); err != nil {
		return nil, err
	}
	return statusOf(l), nil
}

func setLinkFault(l *deployment.Lab, r *http.Request) (any, error) {
	set, err := setOf(l)
	if err != nil {
		return nil, err
	}
	from, err := numberOf(r, "from")
	if err != nil {
		return nil, err
	}
	to, err := numberOf(r, "to")
	if err != nil {
		return nil, err
	}
	f, duration, err := faultOf(r)
	if err != nil {
		return nil, err
	}
	if err := set.SetLinkFault(from, to, f, duration); err != nil {
		return nil, err
	}
	return statusOf(l), nil
}
