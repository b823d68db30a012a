package soak

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRegistersAreCheckedToBeLinearizable(t *testing.T) {
	const broken = "registers that are not linearizable"
	type step struct {
		access
		call, ended int64
		value       int64 // read
		unknown     bool
	}
	read := func(call, ended, value int64) step {
		return step{access: access{kind: "read"}, call: call, ended: ended, value: value}
	}
	write := func(call, ended, value int64) step {
		return step{access: access{kind: "write", new: value}, call: call, ended: ended}
	}
	cas := func(call, ended, from, to int64) step {
		return step{access: access{kind: "cas", old: from, new: to}, call: call, ended: ended}
	}
	unknown := func(s step) step {
		s.unknown = true
		return s
	}
	for name, test := range map[string]struct {
		steps []step
		want  int64
	}{
		"begins with 0":                 {[]step{read(1, 2, 0)}, 0},
		"read what was written":         {[]step{write(1, 2, 7), read(3, 4, 7)}, 0},
		"a write that is lost":          {[]step{write(1, 2, 7), read(3, 4, 0)}, 1},
		"a read that is stale":          {[]step{write(1, 2, 7), write(3, 4, 8), read(5, 6, 7)}, 1},
		"at the same time":              {[]step{write(1, 10, 7), read(2, 3, 0), read(4, 5, 7)}, 0},
		"back and forth":                {[]step{write(1, 10, 7), read(2, 3, 7), read(4, 5, 0)}, 1},
		"compared and set":              {[]step{write(1, 2, 7), cas(3, 4, 7, 8), read(5, 6, 8)}, 0},
		"set, but another value":        {[]step{write(1, 2, 7), cas(3, 4, 6, 8)}, 1},
		"set twice from the same":       {[]step{write(1, 2, 7), cas(3, 4, 7, 8), cas(5, 6, 7, 9)}, 1},
		"unknown and done":              {[]step{unknown(write(1, 0, 7)), read(3, 4, 7)}, 0},
		"unknown and not done":          {[]step{unknown(write(1, 0, 7)), read(3, 4, 0)}, 0},
		"unknown and done late":         {[]step{unknown(write(1, 0, 7)), read(3, 4, 0), read(5, 6, 7)}, 0},
		"unknown and done twice":        {[]step{unknown(write(1, 0, 7)), read(3, 4, 7), write(5, 6, 8), read(7, 8, 7)}, 1},
		"unknown, compared and not set": {[]step{unknown(cas(1, 0, 5, 7)), read(3, 4, 0)}, 0},
		"unknown, compared and set":     {[]step{unknown(cas(1, 0, 5, 7)), read(3, 4, 7)}, 1},
	} {
		r, report := newRegisters(), newReport()
		for i, s := range test.steps {
			r.record(0, i, s.access, s.call, s.value, !s.unknown)
			if !s.unknown {
				r.histories[0][i].Return = s.ended
			}
		}
		r.check(report)
		want := map[string]int64{}
		if test.want > 0 {
			want[broken] = test.want
		}
		assert.Equal(t, want, counted(report), name)
	}
}

func TestRegistersTakeTurns(t *testing.T) {
	r := newRegisters()
	for range registerLength {
		assert.Equal(t, 0, r.take())
	}
	assert.Equal(t, 1, r.take(), "a history has an end")
	r.record(1, 0, access{kind: "write", new: 1}, 1, 0, false)
	assert.Equal(t, 2, r.take(), "a register is left after an outcome that nobody knows")
	r.record(1, 0, access{kind: "write", new: 2}, 1, 0, false)
	assert.Equal(t, 2, r.take(), "and another is not for that")
}
