package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pawl"
)

func TestRedAtBase(t *testing.T) {
	tests := spec(pawl.GateTests)
	base := MustJudge(t, tests, goResult("-TestA", "-TestB", "+TestC"), nil)

	t.Run("nothing new fails", func(t *testing.T) {
		r := MustJudge(t, tests, goResult("-TestA", "-TestB", "+TestC", "+TestD"), &base)
		want(t, r, pawl.VerdictPass, "not worse than the base: 2 tests fail there too: TestA, TestB")
		if !r.RedAtBase {
			t.Error("RedAtBase is not set")
		}
	})
	t.Run("one less fails", func(t *testing.T) {
		want(t, MustJudge(t, tests, goResult("-TestA", "+TestB", "+TestC"), &base), pawl.VerdictPass, "not worse than the base: 1 test fails there too: TestA")
	})
	t.Run("all green", func(t *testing.T) {
		r := MustJudge(t, tests, goResult("+TestA", "+TestB", "+TestC"), &base)
		want(t, r, pawl.VerdictPass, "3 tests pass")
		if r.RedAtBase {
			t.Error("RedAtBase is set")
		}
	})
	t.Run("another fails", func(t *testing.T) {
		r := MustJudge(t, tests, goResult("-TestA", "+TestB", "-TestC", "-TestD"), &base)
		want(t, r, pawl.VerdictFail, "2 tests fail that do not fail on the base: TestC, TestD; 1 fails there too: TestA")
		if strings.Contains(r.Error, "TestA") {
			t.Errorf("the error tells what the base has too: %q", r.Error)
		}
	})
	t.Run("green is required", func(t *testing.T) {
		tests := tests
		tests.RequireGreen = true
		want(t, MustJudge(t, tests, goResult("-TestA", "+TestB", "+TestC"), &base), pawl.VerdictFail, "1 of 3 tests fails: TestA")
	})
	t.Run("some must pass", func(t *testing.T) { // F-26
		tests := tests
		tests.Green = []string{"TestB", "TestNew"}
		want(t, MustJudge(t, tests, goResult("-TestA", "-TestB", "+TestC"), &base), pawl.VerdictFail, "1 test that must pass fails: TestB; 1 test that must pass did not run: TestNew")
		r := MustJudge(t, tests, goResult("-TestA", "+TestB", "+TestC", "+TestNew"), &base)
		want(t, r, pawl.VerdictPass, "not worse than the base: 1 test fails there too: TestA")
		if !r.RedAtBase {
			t.Error("RedAtBase is not set")
		}
		want(t, MustJudge(t, tests, goResult("+TestA", "+TestB", "+TestC"), nil), pawl.VerdictFail, "1 test that must pass did not run: TestNew")
		want(t, MustJudge(t, tests, goResult("+TestA", "+TestB", "+TestC", "-TestD"), &base), pawl.VerdictFail, "1 test fails that does not fail on the base: TestD")
	})
	t.Run("it does not build any more", func(t *testing.T) {
		r := MustJudge(t, tests, play(1, `{"ImportPath":"shop","Action":"build-output","Output":"x.go:1:1: syntax error\n"}`+"\n"+
			`{"Action":"fail","Package":"shop","FailedBuild":"shop"}`), &base)
		want(t, r, pawl.VerdictFail, "1 failure that the base does not have: shop [build failed]")
	})
	t.Run("the failing test takes others with it", func(t *testing.T) {
		out := strings.Replace(goJSON("-TestA"), "TestA is broken", "panic: boom", 1)
		r := MustJudge(t, tests, play(1, strings.Replace(out, "    shop_test.go:9: ", "", 1)), &base)
		want(t, r, pawl.VerdictFail, "2 tests of the base no longer run: TestB (removed), TestC (removed), because of a failure; not worse than the base: 1 test fails there too: TestA")
	})
	t.Run("the base fails with exit code 0", func(t *testing.T) {
		silent := MustJudge(t, tests, play(0, goJSON("-TestA")), nil)
		want(t, MustJudge(t, tests, play(0, goJSON("-TestA")), &silent), pawl.VerdictPass, "not worse than the base: 1 test fails there too: TestA")
	})
	t.Run("no test runs", func(t *testing.T) {
		none := MustJudge(t, tests, play(0, "1..0\n"), nil)
		want(t, MustJudge(t, tests, play(0, "1..0\n"), &none), pawl.VerdictFail, "0 tests ran")
	})
}

func TestRedAtBaseWithoutTests(t *testing.T) {
	types := spec(pawl.GateTypes)
	base := MustJudge(t, types, play(2, "/home/a/x: error: no such module: shop (0.1s)\n"), nil)
	r := MustJudge(t, types, play(2, "/tmp/b/x: error: no such module: shop (2.7s)\n"), &base)
	if r.Verdict != pawl.VerdictPass || !r.RedAtBase || !strings.HasPrefix(r.Reason, "not worse than the base, which fails alike: exit 2: ") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	r = MustJudge(t, types, play(2, "error: no such module: cart\n"), &base)
	want(t, r, pawl.VerdictFail, "exit 2: error: no such module: cart; the base fails differently: exit 2: /home/a/x: error: no such module: shop (0.1s)")

	missing := MustJudge(t, types, play(127, "sh: 1: tsc: not found\n"), nil)
	want(t, MustJudge(t, types, play(127, "sh: 1: tsc: not found\n"), &missing), pawl.VerdictFail, "tsc is not installed (exit 127)")
	killed := MustJudge(t, types, play(-1, ""), nil)
	want(t, MustJudge(t, types, play(-1, ""), &killed), pawl.VerdictFail, "the command was killed; the base could not be judged: the command was killed")
}

func TestFindingsAgainstTheBase(t *testing.T) {
	lint := spec(pawl.GateLint)
	base := MustJudge(t, lint, play(1, "a.go:3:1: x is unused (unused)\nb.go:9:1: bad (style)\n"), nil)
	r := MustJudge(t, lint, play(1, "a.go:33:1: x is unused (unused)\nb.go:1:1: bad (style)\n"), &base)
	want(t, r, pawl.VerdictPass, "not worse than the base, which has the same: 2 errors: a.go:33: unused: x is unused; b.go:1: style: bad")
	r = MustJudge(t, lint, play(1, "a.go:3:1: x is unused (unused)\na.go:5:1: x is unused (unused)\n"), &base)
	want(t, r, pawl.VerdictFail, "new: 1 error: a.go:5: unused: x is unused; on the base too: 1 error")
	want(t, MustJudge(t, lint, play(1, "c.go:5:1: worse (style)\n"), &base), pawl.VerdictFail, "1 error: c.go:5: style: worse")
}

func TestSecurityAgainstTheBase(t *testing.T) {
	security := spec(pawl.GateSecurity)
	base := MustJudge(t, security, play(1, sarif(result("R1", "9.8"))), nil)
	r := MustJudge(t, security, play(1, sarif(result("R1", "9.8"))), &base)
	want(t, r, pawl.VerdictPass, "CRITICAL FINDINGS REMAIN, not worse than the base, which has the same: 1 critical finding: a.go:7: R1: R1 found")
	if !r.RedAtBase {
		t.Error("RedAtBase is not set")
	}
	want(t, MustJudge(t, security, play(1, sarif(result("R1", "9.8"), result("R2", "5"))), &base), pawl.VerdictFail,
		"new: 1 medium finding: a.go:7: R2: R2 found; on the base too: 1 critical finding")
	want(t, MustJudge(t, security, play(1, sarif(result("R1", "9.8"), result("R2", "9"))), &base), pawl.VerdictHalt,
		"new: 1 critical finding: a.go:7: R2: R2 found; on the base too: 1 critical finding")

	security.RequireGreen = true
	if r := MustJudge(t, security, play(1, sarif(result("R1", "9.8"))), &base); r.Verdict != pawl.VerdictHalt {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}

	// A scanner that could not scan on the base either proves nothing.
	security.RequireGreen = false
	offline := play(1, "error: cannot fetch the database\n")
	base = MustJudge(t, security, offline, nil)
	want(t, MustJudge(t, security, offline, &base), pawl.VerdictFail, "exit 1: error: cannot fetch the database")
	security.Optional = true
	want(t, MustJudge(t, security, offline, &base), pawl.VerdictPass, "not worse than the base, which fails alike: exit 1: error: cannot fetch the database")
}

func TestInventory(t *testing.T) {
	run := func(base, now []string) pawl.GateReport {
		b := MustJudge(t, spec(pawl.GateTests), goResult(base...), nil)
		return MustJudge(t, spec(pawl.GateTests), goResult(now...), &b)
	}
	lost := []struct {
		name      string
		base, now []string
		reason    string
		inventory []string
	}{
		{"a test is removed", []string{"+TestA", "+TestB"}, []string{"+TestA"},
			"1 test passes; 1 test of the base no longer runs: TestB (removed)", []string{"shop.TestB (removed)"}},
		{"a test is skipped", []string{"+TestA", "+TestB"}, []string{"+TestA", "~TestB"},
			"1 test passes (1 skipped); 1 test of the base no longer runs: TestB (skipped now)", []string{"shop.TestB (skipped now)"}},
		{"both", []string{"+TestA", "+TestB", "+TestC"}, []string{"+TestA", "~TestB"},
			"1 test passes (1 skipped); 2 tests of the base no longer run: TestC (removed), TestB (skipped now)", []string{"shop.TestC (removed)", "shop.TestB (skipped now)"}},
		{"the failing test is skipped instead of mended", []string{"+TestA", "-TestB"}, []string{"+TestA", "~TestB"},
			"1 test passes (1 skipped); 1 test of the base no longer runs: TestB (skipped now)", []string{"shop.TestB (skipped now)"}},
		{"the failing test is removed", []string{"+TestA", "-TestB"}, []string{"+TestA"},
			"1 test passes; 1 test of the base no longer runs: TestB (removed)", []string{"shop.TestB (removed)"}},
		{"a test goes while unlike ones come", []string{"+TestLogin", "+TestLogout"}, []string{"+TestLogin", "+TestCart", "+TestPrice"},
			"3 tests pass; 1 test of the base no longer runs: TestLogout (removed)", []string{"shop.TestLogout (removed)"}},
		{"a row of a table goes", []string{"+TestA", "+TestA/empty", "+TestA/full"}, []string{"+TestA", "+TestA/empty"},
			"2 tests pass; 1 test of the base no longer runs: TestA/full (removed)", []string{"shop.TestA/full (removed)"}},
		{"a table is skipped as a whole", []string{"+TestA", "+TestA/empty", "+TestA/full", "+TestB"}, []string{"~TestA", "+TestB"},
			"1 test passes (1 skipped); 1 test of the base no longer runs: TestA (skipped now)", []string{"shop.TestA (skipped now)"}},
		{"one of two in a temporary folder goes", []string{"+TestW", "+TestW//tmp/TestW1/001/a", "+TestW//tmp/TestW1/001/b"}, []string{"+TestW", "+TestW//tmp/TestW2/001/a"},
			"2 tests pass; 1 test of the base no longer runs: TestW//tmp/TestW1/001/b (removed)", []string{"shop.TestW//tmp/TestW1/001/b (removed)"}},
		{"the new one is skipped", []string{"+TestLogin", "+TestB"}, []string{"~TestLogin2", "+TestB"},
			"1 test passes (1 skipped); 1 test of the base no longer runs: TestLogin (removed)", []string{"shop.TestLogin (removed)"}},
	}
	for _, tt := range lost {
		t.Run(tt.name, func(t *testing.T) {
			r := run(tt.base, tt.now)
			want(t, r, pawl.VerdictPass, tt.reason)
			var inventory []string
			for _, l := range r.Lost {
				inventory = append(inventory, l.String())
			}
			if !slices.Equal(inventory, tt.inventory) {
				t.Errorf("inventory %q, want %q", inventory, tt.inventory)
			}
		})
	}
	quiet := []struct {
		name      string
		base, now []string
	}{
		{"nothing changed", []string{"+TestA"}, []string{"+TestA"}},
		{"tests are added", []string{"+TestA"}, []string{"+TestA", "+TestB"}},
		{"a test is renamed", []string{"+TestLogin", "+TestB"}, []string{"+TestLoginWithPassword", "+TestB"}},
		{"a test is renamed while others come", []string{"+TestParseURL"}, []string{"+TestURLParsing", "+TestC", "+TestD"}},
		{"all are renamed", []string{"+TestLogin", "+TestLogout"}, []string{"+TestSignIn", "+TestSignOut"}},
		{"rows are renamed", []string{"+TestA", "+TestA/one", "+TestA/two"}, []string{"+TestA", "+TestA/1", "+TestA/2", "+TestA/3"}},
		{"a table is renamed", []string{"+TestCart", "+TestCart/one", "+TestCart/two"}, []string{"+TestCartTotal", "+TestCartTotal/x"}},
		{"a skipped test goes", []string{"+TestA", "~TestB"}, []string{"+TestA"}},
		{"a skipped test runs", []string{"+TestA", "~TestB"}, []string{"+TestA", "+TestB"}},
	}
	for _, tt := range quiet {
		t.Run(tt.name, func(t *testing.T) {
			if r := run(tt.base, tt.now); r.Verdict != pawl.VerdictPass || len(r.Lost) > 0 {
				t.Errorf("%s: %s %q", r.Verdict, r.Reason, r.Lost)
			}
		})
	}
	t.Run("a test moves to another package", func(t *testing.T) {
		b := MustJudge(t, spec(pawl.GateTests), goResult("+TestA", "+TestB"), nil)
		moved := goJSON("+TestA") + strings.ReplaceAll(goJSON("+TestB"), `"shop"`, `"shop/cart"`)
		want(t, MustJudge(t, spec(pawl.GateTests), play(0, moved), &b), pawl.VerdictPass, "2 tests pass")
	})
	t.Run("what a panic took with it is not told twice", func(t *testing.T) {
		b := MustJudge(t, spec(pawl.GateTests), goResult("+TestA", "+TestB"), nil)
		out := strings.Replace(goJSON("-TestA"), "    shop_test.go:9: TestA is broken", "panic: boom", 1)
		want(t, MustJudge(t, spec(pawl.GateTests), play(1, out), &b), pawl.VerdictFail, "1 of 1 test fails: TestA")
	})
}

// A base that could not be judged is named, since nothing is compared with it.
func TestBaseThatCouldNotBeJudged(t *testing.T) {
	tests := spec(pawl.GateTests)
	late := goResult("+TestA")
	late.TimedOut = true
	for name, test := range map[string]struct {
		base   pawl.CommandResult
		reason string
	}{
		"TimedOut": {late, "timed out after 2m; 1 test had passed; timeout_ms of gate tests changes the limit"},
		"Killed":   {play(-1, ""), "the command was killed"},
		"Missing":  {play(127, "sh: 1: check: not found\n"), "check is not installed (exit 127)"},
	} {
		t.Run(name, func(t *testing.T) {
			base := MustJudge(t, tests, test.base, nil)
			want(t, MustJudge(t, tests, goResult("+TestA", "+TestB"), &base), pawl.VerdictPass, "2 tests pass; the base could not be judged: "+test.reason)
			want(t, MustJudge(t, tests, goResult("-TestA", "+TestB"), &base), pawl.VerdictFail, "1 of 2 tests fails: TestA; the base could not be judged: "+test.reason)
		})
	}
	red := MustJudge(t, tests, goResult("-TestA"), nil)
	want(t, MustJudge(t, tests, goResult("+TestA"), &red), pawl.VerdictPass, "1 test passes")
}

func TestSilencedTests(t *testing.T) {
	tests := spec(pawl.GateTests)
	base := MustJudge(t, tests, goResult("+TestA", "+TestB"), nil)
	want(t, MustJudge(t, tests, play(0, "all good\n"), &base), pawl.VerdictFail, "2 tests ran on the base, and no test result can be read now")

	red := MustJudge(t, tests, goResult("-TestA", "+TestB"), nil)
	want(t, MustJudge(t, tests, play(0, "all good\n"), &red), pawl.VerdictFail, "2 tests ran on the base, and no test result can be read now")
	none := MustJudge(t, tests, play(0, "fine\n"), nil)
	want(t, MustJudge(t, tests, play(0, "all good\n"), &none), pawl.VerdictPass, "exit 0")

	// Text that names no tests: only the count can tell.
	maven := func(n int) pawl.CommandResult {
		return play(0, fmt.Sprintf("[INFO] Tests run: %d, Failures: 0, Errors: 0, Skipped: 0\n", n))
	}
	base = MustJudge(t, tests, maven(14), nil)
	want(t, base, pawl.VerdictPass, "14 tests pass")
	r := MustJudge(t, tests, maven(12), &base)
	want(t, r, pawl.VerdictPass, "12 tests pass; 14 tests ran on the base, 12 now")
	if r.Fewer != 2 {
		t.Errorf("%d fewer", r.Fewer)
	}
	want(t, MustJudge(t, tests, maven(15), &base), pawl.VerdictPass, "15 tests pass")
	want(t, MustJudge(t, tests, play(0, "BUILD SUCCESS\n"), &base), pawl.VerdictFail, "14 tests ran on the base, and no test result can be read now")
}

func TestUnnamedFailuresMustNotGrow(t *testing.T) {
	tests := spec(pawl.GateTests)
	maven := func(failures int) pawl.CommandResult {
		return play(1, fmt.Sprintf("[ERROR] CartTest.adds:31 expected 3\n[ERROR] Tests run: 9, Failures: %d, Errors: 0, Skipped: 0\n", failures))
	}
	base := MustJudge(t, tests, maven(1), nil)
	want(t, base, pawl.VerdictFail, "1 of 9 tests fails")
	r := MustJudge(t, tests, maven(1), &base)
	want(t, r, pawl.VerdictPass, "not worse than the base, which fails alike: 1 of 9 tests fails")
	want(t, MustJudge(t, tests, maven(2), &base), pawl.VerdictFail, "2 of 9 tests fail; on the base 1 of 9 tests fails")
	green := play(0, "[INFO] Tests run: 8, Failures: 0, Errors: 0, Skipped: 0\n")
	want(t, MustJudge(t, tests, green, &base), pawl.VerdictPass, "8 tests pass; 9 tests ran on the base, 8 now")
}

// jest names the tests of a single file, and only files when there are several.
func TestFilesStandForTheirTests(t *testing.T) {
	one := "PASS src/a.test.js\n  sum\n    ✓ adds (2 ms)\n    ✓ subtracts\n\nTest Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\n"
	two := "PASS src/a.test.js\nPASS src/b.test.js\n\nTest Suites: 2 passed, 2 total\nTests:       3 passed, 3 total\n"
	base := MustJudge(t, spec(pawl.GateTests), play(0, one), nil)
	want(t, MustJudge(t, spec(pawl.GateTests), play(0, two), &base), pawl.VerdictPass, "3 tests pass")
	base = MustJudge(t, spec(pawl.GateTests), play(0, two), nil)
	want(t, MustJudge(t, spec(pawl.GateTests), play(0, one), &base), pawl.VerdictPass, "2 tests pass; 1 test of the base no longer runs: src/b.test.js (removed)")
}

// A candidate whose tests keep their names passes exactly when some run and all that fail now
// failed on the base.
func TestAgainstTheBaseProperty(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		var base, now []string
		pass, ran := true, 0
		for i := range rapid.IntRange(1, 8).Draw(rt, "tests") {
			// Names without a word in common, so that none takes another's place.
			name := fmt.Sprintf("Test%s", strings.Repeat(string(rune('A'+i)), 1)+strings.Repeat(string(rune('a'+i)), 3))
			was := rapid.SampledFrom([]string{"+", "-", "~"}).Draw(rt, "was")
			is := rapid.SampledFrom([]string{"+", "-", "~", ""}).Draw(rt, "is")
			base = append(base, was+name)
			if is != "" {
				now = append(now, is+name)
			}
			if is == "+" || is == "-" {
				ran++
			}
			if is == "-" && was != "-" {
				pass = false
			}
		}
		pass = pass && ran > 0
		judge := func(res pawl.CommandResult, base *pawl.GateReport) pawl.GateReport {
			r, err := New().Judge(t.Context(), pawl.GateRequest{Spec: spec(pawl.GateTests), Room: &player{tree: dir, result: res}, Base: base})
			if err != nil {
				rt.Fatal(err)
			}
			return r
		}
		b := judge(goResult(base...), nil)
		if r := judge(goResult(now...), &b); (r.Verdict == pawl.VerdictPass) != pass {
			rt.Fatalf("base %v, now %v: %s: %s", base, now, r.Verdict, r.Reason)
		}
	})
}
