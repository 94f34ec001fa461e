package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"pawl"
)

// driven is a model whose commands are done at once, on a world.
type driven struct {
	tb testing.TB
	w  *world
	m  *Model
	// quit reports that the program has ended.
	quit bool
}

const diffText = "diff --git a/users/store.go b/users/store.go\n--- a/users/store.go\n+++ b/users/store.go\n@@ -12,6 +12,9 @@ func (s *Store) Add(u User) error {\n" +
	" \tif u.Email == \"\" {\n \t\treturn errNoEmail\n \t}\n+\tif s.has(strings.ToLower(u.Email)) {\n+\t\treturn errTaken\n+\t}\n-\treturn s.put(u)\n+\treturn s.put(u.normal())\n }\n"

// drive shows a world on a screen.
func drive(tb testing.TB, w *world, width, height int, p pen) *driven {
	return driveAt(tb, w, width, height, p, "")
}

// driveAt is drive for a program that is to begin at a run.
func driveAt(tb testing.TB, w *world, width, height int, p pen, run string) *driven {
	d := &driven{tb: tb, w: w}
	src := newSource(context.Background(), Options{Open: w.open, Now: func() time.Time { return w.now },
		Diff: func(context.Context, string, pawl.CommitHash, pawl.CommitHash) ([]byte, error) {
			return []byte(diffText), nil
		}})
	src.after = func(time.Duration) tea.Cmd { return nil }
	src.next = func(*watch) tea.Cmd { return nil }
	src.follow = func(x *watch, after, _ pawl.Seq) tea.Cmd {
		return func() tea.Msg { return d.seen(x, after, src) }
	}
	d.m = newModel(src, p, "ada", run)
	d.send(tea.WindowSizeMsg{Width: width, Height: height})
	d.do(d.m.Init())
	return d
}

// seen is what a watcher sees of a run after an event.
func (d *driven) seen(x *watch, after pawl.Seq, src *source) watchMsg {
	svc, err := src.service(x.ctx, x.key.project)
	if err != nil {
		return watchMsg{w: x, done: true, err: err}
	}
	r := d.w.runs[x.key]
	msg := watchMsg{w: x, events: r.events[min(int(after), len(r.events)):], live: r.live}
	for i := range msg.events {
		x.fetch(svc, &msg.events[i])
		msg.done = msg.done || msg.events[i].Body.EventKind() == pawl.KindRunEnded
	}
	msg.blobs = x.blobs
	return msg
}

// look lets time come to what the world's is, and watchers see what is new.
func (d *driven) look() {
	for _, s := range d.m.shown {
		if s.watch != nil {
			if d.w.gone != nil {
				d.send(watchMsg{w: s.watch, done: true, err: d.w.gone})
				continue
			}
			d.send(d.seen(s.watch, s.run.Seq, d.m.src))
		}
	}
	d.send(tickMsg{})
}

func (d *driven) send(msg tea.Msg) {
	_, cmd := d.m.Update(msg)
	d.do(cmd)
}

func (d *driven) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			d.do(c)
		}
	case tea.QuitMsg:
		d.quit = true
	default:
		d.send(msg)
	}
}

// press presses keys, by their names.
func (d *driven) press(keys ...string) {
	for _, k := range keys {
		d.send(pressed(k))
	}
}

// write types a text.
func (d *driven) write(text string) {
	for _, r := range text {
		d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func pressed(name string) tea.KeyPressMsg {
	special := map[string]tea.KeyPressMsg{"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp},
		"down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight}, "pgdown": {Code: tea.KeyPgDown}, "pgup": {Code: tea.KeyPgUp},
		"end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome}, "backspace": {Code: tea.KeyBackspace}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
		"ctrl+j": {Code: 'j', Mod: tea.ModCtrl}, "ctrl+w": {Code: 'w', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl}, "ctrl+a": {Code: 'a', Mod: tea.ModCtrl}}
	if k, ok := special[name]; ok {
		return k
	}
	r := []rune(name)[0]
	return tea.KeyPressMsg{Code: r, Text: name}
}

// screen is what is shown, without the blanks at the ends of lines.
func (d *driven) screen() string {
	lines := strings.Split(d.m.View().Content, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (d *driven) shows(want ...string) {
	d.tb.Helper()
	for _, s := range want {
		if !strings.Contains(d.screen(), s) {
			d.tb.Errorf("the screen does not show %q:\n%s", s, d.screen())
		}
	}
}

// A closed account is named in the tree and in the log, with when it opens. F-15
func TestWaitingForAnAccount(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-long", "A long run")
	s.try(1, 1, 50, 1)
	id := s.ask(1, s.n[1], pawl.Place{Loop: "task", Iteration: 1, Step: "implement"}, &pawl.Wait{For: time.Minute})
	s.r.live = append(s.r.live, pawl.Live{Effect: id, Waiting: &pawl.Waiting{Effect: id, Name: "model call task/1/implement", Pool: "account:openai",
		Account: "api.example.com with key 3f2a91", Until: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Why: "all used",
		Since: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC), For: 12 * time.Second}})
	d := drive(t, w, 220, 24, pen{})
	d.look()
	d.shows("waits until 03:04:05 for api.exa", "model call task/1/implement waits for account api.example.com with key 3f2a91 of openai, which opens at 03:04:05 (all")
}

// A model that sends nothing is named below what is said, and in the tree that it is waited for. F-49
func TestSilentModel(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-long", "A long run")
	s.try(1, 1, 50, 1)
	id := s.ask(1, s.n[1], pawl.Place{Loop: "task", Iteration: 1, Step: "implement", Turn: 1}, &pawl.CallModel{Tier: 1})
	s.r.live = append(s.r.live, pawl.Live{Effect: id, Waiting: &pawl.Waiting{Effect: id, Name: "model call 1 of implement in iteration 1", Pool: pawl.PoolModel,
		Model: "anthropic/claude", For: 42 * time.Second}})
	d := drive(t, w, 220, 24, pen{})
	d.look()
	d.shows("waits for its model", "anthropic/claude has sent nothing for 42s (model call 1 of implement in iteration 1)")
}

// What an effect waits for stands below what is said, until it has its places. F-24
func TestWaitingForPlaces(t *testing.T) {
	w := newWorld()
	s := w.begin(t, "shop", "001-long", "A long run")
	s.try(1, 1, 50, 1)
	id := s.ask(1, 0, pawl.Place{Step: "tests"}, &pawl.RunGate{Gate: "tests"})
	says := func(over bool) {
		w.mu.Lock()
		s.r.live = append(s.r.live, pawl.Live{Effect: id, Waiting: &pawl.Waiting{Effect: id, Name: "gate tests", Pool: "lane:heavy", Slots: 2, For: 12 * time.Second, Over: over}})
		w.more.Broadcast()
		w.mu.Unlock()
	}
	d := drive(t, w, 220, 24, pen{})
	says(false)
	d.look()
	d.press("tab", "g")
	const text = "gate tests waits for one of 2 heavy places, 12s so far"
	d.shows(text)
	d.shows("waits for a place")
	says(true)
	d.look()
	if strings.Contains(d.screen(), text) {
		t.Errorf("it has its place, and the screen has\n%s", d.screen())
	}
}
