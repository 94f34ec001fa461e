package resolve

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var known = []Task{
	{ID: "001-add-dark-mode", Goal: "Add a dark mode to the settings page", Last: 0},
	{ID: "002-fix-bug", Goal: "Fix the bug that empties the cart when a session expires", Last: 0},
	{ID: "003-auth-login", Goal: "Users sign in with a password", Last: 2},
	{ID: "004-auth-tokens", Goal: "Access tokens are refreshed before they expire", Last: 0},
	{ID: "012-port-parser", Goal: "Port the parser to a table-driven design", Last: 0},
	{ID: "012-import-csv", Goal: "Import customers from a spreadsheet, comma separated", Last: 0}, // of another clone
	{ID: "101-upload-retry", Goal: "Uploads are tried again after a network failure", Last: 0},
}

// V-18 V-19 V-20 V-23 V-25
func TestResolve(t *testing.T) {
	for _, test := range []struct{ message, want string }{
		// a full id
		{"continue 002-fix-bug", "002-fix-bug by id"},
		{"Continue 002-FIX-BUG, please", "002-fix-bug by id"},
		{"look at 002-fix-bug once more", "002-fix-bug by id"},
		{"resume 003-auth-login-r2", "003-auth-login by id"},
		{"continue 012-import-csv", "012-import-csv by id"},
		{"resume 001-add-dark-mode or 002-fix-bug", "ambiguous: 001-add-dark-mode 002-fix-bug"},
		{"002-fix-bug", "002-fix-bug by id"},
		// a number
		{"continue task 2", "002-fix-bug by number"},
		{"resume #2", "002-fix-bug by number"},
		{"keep working on task #3", "003-auth-login by number"},
		{"continue task number 4 please", "004-auth-tokens by number"},
		{"resume 002", "002-fix-bug by number"},
		{"resume 2", "002-fix-bug by number"},
		{"pick up 101 again", "101-upload-retry by number"},
		{"continue 12", "ambiguous: 012-port-parser 012-import-csv"},
		{"continue task 9", "none"},
		{"continue task 9, the auth login", "none"},
		{"resume 404", "none"},
		// the words of a slug
		{"resume the auth login task", "003-auth-login by slug"},
		{"keep working on dark mode", "001-add-dark-mode by slug"},
		{"Please continue with the dark mode.", "001-add-dark-mode by slug"},
		{"let's finish the parser", "012-port-parser by slug"},
		{"can you pick up the CSV import where we left off?", "012-import-csv by slug"},
		{"I'd like to continue the bug fixing", "002-fix-bug by slug"},
		{"go on with the upload retries", "101-upload-retry by slug"},
		{"carry on with tokens", "004-auth-tokens by slug"},
		{"get back to the uploads", "101-upload-retry by slug"},
		{"continue the login task: there should be a way to log out too", "003-auth-login by slug"},
		{"Continue the parser. Numbers may have exponents, and comments nest", "012-port-parser by slug"},
		{"resume, where we left off, the dark mode", "001-add-dark-mode by slug"},
		// the words of a goal
		{"continue the session cart thing", "002-fix-bug by goal"},
		{"resume the work on passwords", "003-auth-login by goal"},
		{"go on with the spreadsheet", "012-import-csv by goal"},
		{"finish the table-driven design", "012-port-parser by goal"},
		// a full id that is not known is not taken for a similar one
		{"continue 002-fix-bugs", "ambiguous: 002-fix-bug"},
		{"resume 012-parser", "ambiguous: 012-port-parser 012-import-csv"},
		{"continue 009-auth-login", "ambiguous: 003-auth-login 004-auth-tokens"},
		{"continue 900-something-else", "none"},
		{"resume 005-dark-mode-r2", "ambiguous: 001-add-dark-mode"},
		{"resume 003-auth-login-r3", "ambiguous: 003-auth-login 004-auth-tokens"}, // it has two runs
		// several, or none that is known
		{"resume the auth task", "ambiguous: 003-auth-login 004-auth-tokens"},
		{"continue authentication", "ambiguous: 003-auth-login 004-auth-tokens"},
		{"keep working on what expires", "ambiguous: 002-fix-bug 004-auth-tokens"},
		{"continue", "none"},
		{"go on", "none"},
		{"resume the last task", "none"},
		{"keep going", "none"},
		{"continue the payments task", "none"},
		{"continue handling HTTP 404 answers of the payment provider", "none"},
		{"resume uploads with chunked transfer encoding behind proxies", "ambiguous: 101-upload-retry"}, // one word of six
		// new work
		{"add a button that says continue", "new"},
		{"Fix the auth login", "new"},
		{"the parser should resume after an error", "new"},
		{"go on strike", "new"},
		{"update to 999-unknown-thing", "new"},
		{"pick a colour", "new"},
		{"", "new"},
		{"!!!", "new"},
	} {
		if got := say(Resolve(test.message, known)); got != test.want {
			t.Errorf("%q: got %s, want %s", test.message, got, test.want)
		}
		if test.want != "new" && !Hints(test.message) {
			t.Errorf("%q: nobody would look which task is meant", test.message)
		}
	}
}

// V-21: where there is no task, everything is new work.
func TestNoTasks(t *testing.T) {
	for _, message := range []string{"continue the auth task", "resume 002-fix-bug", "resume"} {
		if got := say(Resolve(message, nil)); got != "new" {
			t.Errorf("%q: %s", message, got)
		}
	}
}

func say(a Answer) string {
	switch a.Outcome {
	case Found:
		return a.Task.ID + " by " + a.By
	case Ambiguous:
		var ids []string
		for _, c := range a.Candidates {
			ids = append(ids, c.ID)
		}
		return "ambiguous: " + strings.Join(ids, " ")
	case None:
		if len(a.Candidates) != len(known) {
			return "none, and not all tasks to choose from"
		}
	}
	return string(a.Outcome)
}

// Whatever is said of whatever tasks: what is accepted by words has at least twice
// the hits of any other, and the order of the tasks does not matter.
func TestAcceptsByTheRuleOnly(t *testing.T) {
	vocabulary := []string{"auth", "login", "logins", "tokens", "parser", "cart", "dark", "mode", "import", "the", "task", "upload", "uploading"}
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string, most int) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, most).Draw(t, label), " ")
		}
		var tasks []Task
		for i := range rapid.IntRange(1, 6).Draw(t, "tasks") {
			slug := strings.ReplaceAll(text("slug", 3), " ", "-")
			if slug == "" {
				slug = "x"
			}
			tasks = append(tasks, Task{ID: "00" + string(rune('1'+i)) + "-" + slug, Goal: text("goal", 8)})
		}
		message := "continue " + text("message", 6)
		got := Resolve(message, tasks)
		reversed := slices.Clone(tasks)
		slices.Reverse(reversed)
		if again := Resolve(message, reversed); again.Outcome != got.Outcome || again.Task != got.Task {
			t.Errorf("%q: %s, in another order %s", message, say(got), say(again))
		}
		if got.Outcome != Found {
			return
		}
		hits := func(x Task) (n int) {
			of := strings.ReplaceAll(slugOf(x.ID), "-", " ")
			if got.By == "goal" {
				of += " " + x.Goal
			}
			for _, w := range reference(message, strings.Fields(message)[1:]) {
				if slices.ContainsFunc(content(strings.Fields(of)), func(h string) bool { return alike(w, h) }) {
					n++
				}
			}
			return n
		}
		for _, other := range tasks {
			if other != got.Task && hits(got.Task) < 2*hits(other) {
				t.Errorf("%q: %s with %d hits, %s has %d", message, say(got), hits(got.Task), other.ID, hits(other))
			}
		}
		if hits(got.Task) == 0 {
			t.Errorf("%q: %s without a hit", message, say(got))
		}
	})
}

func FuzzResolve(f *testing.F) {
	f.Add("continue task 99999999999999999999 #\x00 ２")
	f.Fuzz(func(t *testing.T, message string) {
		a := Resolve(message, known)
		if a.Outcome != New && !Hints(message) {
			t.Errorf("%q: nobody would look which task is meant", message)
		}
		if a.Outcome == Found && !slices.Contains(known, a.Task) {
			t.Errorf("%q: %+v", message, a)
		}
	})
}

// V-24
func TestLists(t *testing.T) { // F-76
	for message, want := range map[string]bool{
		"list tasks": true, "show tasks": true, "List the tasks.": true, "please show me all my tasks": true, "tasks": false, "list": false,
		"list tasks in the sidebar": false, "show the task": false, "list tasks as JSON": false, "add list tasks": false, "display all known tasks!": true, "": false,
	} {
		if got := Lists(message); got != want {
			t.Errorf("%q asks for the list of tasks: %t, want %t", message, got, want)
		}
	}
}

// F-79: what was tried again under the same words is not always unclear: what never came to anything, and what is
// done, is not what is to be continued.
func TestResolveOneGoal(t *testing.T) {
	const goal = "Lists for a shop, with names and prices and a till that counts"
	for name, test := range map[string]struct {
		tasks []Task
		want  string
	}{
		"NeverPlanned": {[]Task{{ID: "001-lists-for-a-shop", Goal: goal, Empty: true}, {ID: "002-lists-for-a-shop", Goal: goal}}, "002-lists-for-a-shop"},
		"Done":         {[]Task{{ID: "001-lists-for-a-shop", Goal: goal, Done: true}, {ID: "002-lists-for-a-shop", Goal: goal}}, "002-lists-for-a-shop"},
		"OtherEnd":     {[]Task{{ID: "001-lists-for-a-shop", Goal: goal + ": no"}, {ID: "002-lists-for-a-shop", Goal: goal, Empty: true}}, "001-lists-for-a-shop"},
		"Beside":       {[]Task{{ID: "001-lists-for-a-shop", Goal: goal, Empty: true}, {ID: "002-lists-for-a-shop", Goal: goal}, {ID: "003-shop", Goal: "Open the shop"}}, "002-lists-for-a-shop"},
		"BothOpen":     {[]Task{{ID: "001-lists-for-a-shop", Goal: goal}, {ID: "002-lists-for-a-shop", Goal: goal}}, ""},
		"OtherGoal":    {[]Task{{ID: "001-lists-for-a-shop", Goal: goal + " too", Done: true}, {ID: "002-lists-for-a-shop", Goal: goal}}, ""},
		"BothEmpty":    {[]Task{{ID: "001-lists-for-a-shop", Goal: goal, Empty: true}, {ID: "002-lists-for-a-shop", Goal: goal, Empty: true}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Resolve("continue the lists for the shop", test.tasks)
			if got.Task.ID != test.want || (got.Outcome == Found) != (test.want != "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}
