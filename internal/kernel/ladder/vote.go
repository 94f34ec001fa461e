package ladder

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// instantRunoff counts ranked ballots over candidates 0 to n-1. As long as no candidate has more
// than half of the ballots that still rank one, the weakest candidate is eliminated and its ballots
// go to their next choice. Candidates that tie are ordered by rank sum (a candidate that a ballot
// leaves out ranks behind all that it names), then by confidence, then by letter. It returns the
// winner and the rounds as "A2 B1 C2 | A3 C2", or -1 if there is no candidate.
func instantRunoff(n int, ballots [][]int, confidence []int) (winner int, rounds string) {
	if n == 0 {
		return -1, ""
	}
	sums := rankSums(n, ballots)
	stronger := func(a, b int) int { // among equals
		return cmp.Or(cmp.Compare(sums[a], sums[b]), cmp.Compare(confidence[b], confidence[a]), cmp.Compare(a, b))
	}
	left := make([]int, n)
	for i := range left {
		left[i] = i
	}
	var said []string
	for {
		votes, cast := firstChoices(n, ballots, left)
		said = append(said, tally(left, votes))
		order := slices.Clone(left)
		slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(votes[b], votes[a]), stronger(a, b)) })
		if len(order) == 1 || votes[order[0]]*2 > cast {
			return order[0], strings.Join(said, " | ")
		}
		out := order[len(order)-1]
		left = slices.DeleteFunc(left, func(c int) bool { return c == out })
	}
}

// firstChoices returns for each candidate how many ballots rank it highest among those that are
// left, and how many ballots rank any of them.
func firstChoices(n int, ballots [][]int, left []int) (votes []int, cast int) {
	votes = make([]int, n)
	for _, b := range ballots {
		for _, c := range b {
			if slices.Contains(left, c) {
				votes[c]++
				cast++
				break
			}
		}
	}
	return votes, cast
}

// rankSums returns for each candidate the sum of its ranks, from 1. A candidate that a ballot
// leaves out ranks behind all that it names.
func rankSums(n int, ballots [][]int) []int {
	sums := make([]int, n)
	for _, b := range ballots {
		for c := range n {
			rank := slices.Index(b, c) + 1
			if rank == 0 {
				rank = len(b) + 1
			}
			sums[c] += rank
		}
	}
	return sums
}

// tally formats the votes of the candidates that are left, such as "A2 B1 C2".
func tally(left, votes []int) string {
	parts := make([]string, len(left))
	for i, c := range left {
		parts[i] = fmt.Sprintf("%s%d", letter(c), votes[c])
	}
	return strings.Join(parts, " ")
}

// letter returns the name of a candidate: A, B, and so on.
func letter(c int) string { return string(rune('A' + c)) }
