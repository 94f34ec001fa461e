package ladder

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func ballots(in ...string) [][]int {
	var out [][]int
	for _, b := range in {
		var ranks []int
		for _, c := range b {
			ranks = append(ranks, int(c-'A'))
		}
		out = append(out, ranks)
	}
	return out
}

func TestInstantRunoff(t *testing.T) {
	for _, row := range []struct {
		why        string
		candidates int
		ballots    string
		confidence []int
		winner     string
		rounds     string
	}{
		// The sample of the council: five ballots with five first choices, and
		// rank sums A 10, C 12, D 14, E 19, B 20.
		{"the sample", 5, "ACDEB BACDE CDABE DACEB EACDB", nil, "A", "A1 B1 C1 D1 E1 | A2 C1 D1 E1 | A3 C1 D1"},
		{"a majority at once", 3, "BAC BCA CAB", nil, "B", "A0 B2 C1"},
		{"half is no majority: the one without a first choice is struck, then rank sums decide", 3, "AB AC BA BC", nil, "A", "A2 B2 C0 | A2 B2 | A3"},
		{"the weakest's votes go on to the next choice", 3, "AB AB BC BC CB", nil, "B", "A2 B2 C1 | A2 B3"},
		{"equal rank sums: confidence", 2, "AB BA", []int{40, 70}, "B", "A1 B1 | B2"},
		{"equal confidence: the letter", 2, "AB BA", []int{70, 70}, "A", "A1 B1 | A2"},
		{"nobody voted: confidence", 3, "", []int{10, 30, 20}, "B", "A0 B0 C0 | B0 C0 | B0"},
		{"a ballot that names one only is used up with it", 3, "A B C CB", nil, "C", "A1 B1 C2 | B1 C2"},
		{"one candidate", 1, "", nil, "A", "A0"},
		{"none", 0, "", nil, "", ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			confidence := row.confidence
			if confidence == nil {
				confidence = make([]int, row.candidates)
			}
			w, rounds := instantRunoff(row.candidates, ballots(strings.Fields(row.ballots)...), confidence)
			winner := ""
			if w >= 0 {
				winner = letter(w)
			}
			if winner != row.winner || rounds != row.rounds {
				t.Errorf("got %s by %s, want %s by %s", winner, rounds, row.winner, row.rounds)
			}
		})
	}
}

func TestSampleRankSums(t *testing.T) {
	got := rankSums(5, ballots("ACDEB", "BACDE", "CDABE", "DACEB", "EACDB"))
	if want := []int{10, 20, 12, 14, 19}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The count is compared with one that is written down as it is told: strike
// from every ballot whoever is out, look at the first names, and so on.
func TestInstantRunoffAgainstTheObvious(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "candidates")
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		var cast [][]int
		for range rapid.IntRange(0, 7).Draw(t, "ballots") {
			b := rapid.Permutation(all).Draw(t, "ballot")
			cast = append(cast, b[:rapid.IntRange(0, n).Draw(t, "named")])
		}
		confidence := rapid.SliceOfN(rapid.IntRange(0, 3), n, n).Draw(t, "confidence")
		got, _ := instantRunoff(n, cast, confidence)
		if want := obviousRunoff(n, cast, confidence); got != want {
			t.Fatalf("got %s, want %s", letter(got), letter(want))
		}
	})
}

func obviousRunoff(n int, cast [][]int, confidence []int) int {
	out := map[int]bool{}
	for {
		first := map[int]int{}
		counted := 0
		for _, b := range cast {
			for _, c := range b {
				if !out[c] {
					first[c]++
					counted++
					break
				}
			}
		}
		if n-len(out) == 1 || anyMajority(first, counted) >= 0 {
			if w := anyMajority(first, counted); w >= 0 {
				return w
			}
			for c := range n {
				if !out[c] {
					return c
				}
			}
		}
		weakest := -1
		for c := range n {
			if !out[c] && (weakest < 0 || weaker(c, weakest, first, cast, confidence)) {
				weakest = c
			}
		}
		out[weakest] = true
	}
}

func anyMajority(first map[int]int, counted int) int {
	for c, votes := range first {
		if votes > counted-votes {
			return c
		}
	}
	return -1
}

// weaker compares two by first choices, then by rank sum, confidence and letter.
func weaker(a, b int, first map[int]int, cast [][]int, confidence []int) bool {
	sum := func(c int) (s int) {
		for _, ballot := range cast {
			if i := slices.Index(ballot, c); i >= 0 {
				s += i + 1
			} else {
				s += len(ballot) + 1
			}
		}
		return s
	}
	switch {
	case first[a] != first[b]:
		return first[a] < first[b]
	case sum(a) != sum(b):
		return sum(a) > sum(b)
	case confidence[a] != confidence[b]:
		return confidence[a] < confidence[b]
	}
	return a > b
}
