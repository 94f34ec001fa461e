package testsize_test

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"testing"

	"pawl/internal/testsize"
)

func mustSetShort(t *testing.T, value string) {
	t.Helper()
	was := flag.Lookup("test.short").Value.String()
	if err := flag.Set("test.short", value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set("test.short", was); err != nil {
			t.Fatal(err)
		}
	})
}

func TestSizes(t *testing.T) {
	const here = "internal/testsize"
	for _, tt := range []struct {
		name, short, turn, soak, changed string
		size                             string
		cases, every                     []int // of 25
		count                            int   // of 25
	}{
		{"Short", "true", "3", "", "", "short", []int{0, 1}, []int{0, 9, 18}, 2},
		{"ShortComesFirst", "true", "", "1", here, "short", []int{0, 1}, []int{0, 9, 18}, 2},
		{"NoTurn", "false", "", "", "", "turn", []int{0, 10, 20}, []int{0, 10, 20}, 3},
		{"Turn", "false", "4", "", "internal/kernel internal", "turn", []int{4, 14, 24}, []int{4, 14, 24}, 3},
		{"LastTurn", "false", "9", "", "", "turn", []int{9, 19}, []int{9, 19}, 3},
		{"Changed", "false", "4", "", "internal/kernel " + here, "soak", nil, nil, 25},
		{"Soak", "false", "4", "1", "", "soak", nil, nil, 25},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mustSetShort(t, tt.short)
			t.Setenv(testsize.TurnVar, tt.turn)
			t.Setenv(testsize.SoakVar, tt.soak)
			t.Setenv(testsize.ChangedVar, tt.changed)
			if got := testsize.Of("short", "turn", "soak"); got != tt.size {
				t.Errorf("the size is %s, want %s", got, tt.size)
			}
			var all, cases, every []int
			for i := range 25 {
				all = append(all, i)
				if testsize.Case(i, 2) {
					cases = append(cases, i)
				}
				if testsize.Every(i, 9) {
					every = append(every, i)
				}
			}
			if tt.size == "soak" {
				tt.cases, tt.every = all, all
			}
			if !slices.Equal(cases, tt.cases) || !slices.Equal(every, tt.every) {
				t.Errorf("the cases are %v and %v, want %v and %v", cases, every, tt.cases, tt.every)
			}
			if got := testsize.Turn(); tt.size == "turn" && fmt.Sprint(got) != cmp.Or(tt.turn, "0") || tt.size != "turn" && got != 0 {
				t.Errorf("the turn is %d, want %q", got, tt.turn)
			}
			if got := testsize.Cases(2, 25); got != tt.count {
				t.Errorf("there are %d cases, want %d", got, tt.count)
			}
		})
	}
}

func TestUnknownTurn(t *testing.T) {
	mustSetShort(t, "false")
	t.Setenv(testsize.SoakVar, "")
	t.Setenv(testsize.ChangedVar, "")
	for _, turn := range []string{"10", "-1", "three"} {
		t.Setenv(testsize.TurnVar, turn)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s=%s is accepted", testsize.TurnVar, turn)
				}
			}()
			testsize.Case(0, 1)
		}()
	}
}
