package ladder

import (
	"fmt"
	"slices"
	"strconv"

	"pawl"
	"pawl/internal/kernel/brief"
)

// MaxScore is the highest score of a task.
const MaxScore = 14

// Score rates the complexity of a task from 0 to [MaxScore] by the facts of its assessment, and
// says where the points come from:
//
//	files touched       1 → 0, 2–3 → 1, 4–6 → 2, more → 3
//	lines changed       under 50 → 0, under 150 → 1, under 300 → 2, else 3
//	new dependencies    0 → 0, 1–2 → 1, more → 2
//	type of work        documentation 0, test 1, implementation 2, architecture 3
//	risk flags          1 each: security_sensitive, external_integration, breaking_change
//
// A fact that is missing, negative or not known counts 0.
func Score(f pawl.Facts) (points int, why string) {
	n := func(name string) int {
		v, err := strconv.Atoi(f.Get(name))
		if err != nil || v < 0 {
			return 0
		}
		return v
	}
	files, lines, deps := n("files"), n("lines"), n("new_dependencies")
	byFiles := step(files, 1, 3, 6)
	byLines := step(lines, 49, 149, 299)
	byDeps := step(deps, 0, 2)
	byType := max(0, slices.Index([]string{"documentation", "test", "implementation", "architecture"}, f.Get("type")))
	byRisk := len(f.All("risk"))
	points = min(byFiles+byLines+byDeps+byType+byRisk, MaxScore)
	why = fmt.Sprintf("files %d → %d, lines %d → %d, dependencies %d → %d, type %s → %d, risks → %d",
		files, byFiles, lines, byLines, deps, byDeps, brief.Cut(f.Get("type"), 30), byType, byRisk)
	return points, why
}

// step returns how many of the bounds v exceeds.
func step(v int, bounds ...int) int {
	n := 0
	for _, b := range bounds {
		if v > b {
			n++
		}
	}
	return n
}

// TierFor returns the tier of the first band that reaches up to score, or [Top] if there is none.
func TierFor(b *pawl.Bands, score int) int {
	for _, band := range b.Tiers {
		if score <= band.Max {
			return band.Tier
		}
	}
	return Top
}
