package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/client"
)

// mustSocket is the path of a socket that is not there yet.
func mustSocket(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "pawl") // its path has to be short
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "pawl.sock")
}

// mustAnswer makes a client of an owner that answers as given.
func mustAnswer(tb testing.TB, answer http.HandlerFunc) (*client.Client, *httptest.Server) {
	tb.Helper()
	socket := mustSocket(tb)
	l, err := net.Listen("unix", socket)
	if err != nil {
		tb.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: answer}}
	s.Start()
	c := client.New(socket)
	tb.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c, s
}

// cutOff ends an answer in the middle, with all that was written on its way.
func cutOff(w http.ResponseWriter) {
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

func pause(seq pawl.Seq) pawl.Event {
	return pawl.Event{Run: "001-a", Seq: seq, Time: time.Unix(int64(seq), 0).UTC(), Body: &pawl.RunPaused{Reason: "lunch"}}
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// stream is one of the two ways to read a run's events, so that both are tested alike.
type stream struct {
	name string
	// of is an event as it is written, end what follows the last one.
	of   func(e pawl.Event) string
	end  string
	read func(ctx context.Context, c *client.Client, after pawl.Seq) ([]pawl.Seq, error)
}

func streams() []stream {
	return []stream{
		{"Events", func(e pawl.Event) string { return mustJSON(e) + "\n" }, "",
			func(ctx context.Context, c *client.Client, after pawl.Seq) ([]pawl.Seq, error) {
				return collect(c.Events(ctx, "001-a", after), func(e pawl.Event) pawl.Seq { return e.Seq })
			}},
		{"Watch", func(e pawl.Event) string {
			return fmt.Sprintf("event: event\nid: %d\ndata: %s\n\n", e.Seq, mustJSON(e))
		}, "event: end\ndata: {}\n\n",
			func(ctx context.Context, c *client.Client, after pawl.Seq) ([]pawl.Seq, error) {
				return collect(c.Watch(ctx, "001-a", after), func(u pawl.Update) pawl.Seq {
					if u.Event == nil {
						return 0
					}
					return u.Event.Seq
				})
			}},
	}
}

func collect[T any](in iter.Seq2[T, error], seq func(T) pawl.Seq) (out []pawl.Seq, err error) {
	for v, err := range in {
		if err != nil {
			return out, err
		}
		out = append(out, seq(v))
	}
	return out, nil
}

// mustBe checks an error's code and that its text and hint say what they should.
func mustBe(tb testing.TB, err error, code pawl.Code, says ...string) {
	tb.Helper()
	e, ok := errors.AsType[*pawl.Error](err)
	if !ok || e.Code != code {
		tb.Errorf("got %v, want code %s", err, code)
		return
	}
	for _, s := range says {
		if !strings.Contains(e.Error()+"\n"+e.Hint, s) {
			tb.Errorf("%q (hint %q) does not say %q", e, e.Hint, s)
		}
	}
}

// A stream that is cut off while it gets on is taken up where it stopped.
func TestCutStreamGoesOn(t *testing.T) {
	for _, s := range streams() {
		for _, how := range []struct{ name, tail string }{
			{"BetweenEvents", ""}, {"WithinAnEvent", s.of(pause(9))[:20]}, {"BeforeItsEnd", strings.TrimSuffix(s.of(pause(9)), "\n")},
		} {
			t.Run(s.name+how.name, func(t *testing.T) {
				var mu sync.Mutex
				var asked []string
				c, _ := mustAnswer(t, func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					asked = append(asked, r.URL.RawQuery)
					n := len(asked)
					mu.Unlock()
					_, _ = io.WriteString(w, s.of(pause(pawl.Seq(2*n-1)))+s.of(pause(pawl.Seq(2*n))))
					if n < 4 {
						_, _ = io.WriteString(w, how.tail)
						cutOff(w)
					}
					_, _ = io.WriteString(w, s.end)
				})
				got, err := s.read(t.Context(), c, 0)
				if err != nil || !slices.Equal(got, []pawl.Seq{1, 2, 3, 4, 5, 6, 7, 8}) {
					t.Errorf("events %v, %v", got, err)
				}
				if want := []string{"after=0", "after=2", "after=4", "after=6"}; !slices.Equal(asked, want) {
					t.Errorf("asked for %v", asked)
				}
			})
		}
	}
}

func TestCutStreamWithoutAnOwner(t *testing.T) {
	for _, s := range streams() {
		t.Run(s.name+"OwnerGone", func(t *testing.T) {
			var owner *httptest.Server
			c, owner := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, s.of(pause(1)))
				_ = owner.Listener.Close()
				cutOff(w)
			})
			got, err := s.read(t.Context(), c, 0)
			mustBe(t, err, pawl.CodeUnavailable, "has gone", "pawl resume 001-a")
			if !slices.Equal(got, []pawl.Seq{1}) {
				t.Errorf("events %v", got)
			}
		})
		t.Run(s.name+"NothingNew", func(t *testing.T) {
			c, _ := mustAnswer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == "after=6" {
					_, _ = io.WriteString(w, s.of(pause(7)))
				}
				cutOff(w)
			})
			got, err := s.read(t.Context(), c, 6)
			mustBe(t, err, pawl.CodeUnavailable, "has gone", "pawl resume 001-a")
			if !slices.Equal(got, []pawl.Seq{7}) {
				t.Errorf("events %v", got)
			}
		})
	}
}

// Live text is getting on too: a watcher may have stalled in nothing else.
func TestCutWatchGoesOnAfterText(t *testing.T) {
	var mu sync.Mutex
	n := 0
	c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n == 1 {
			_, _ = io.WriteString(w, "event: live\ndata: {\"effect\":1,\"text\":\"hm\"}\n\n")
			cutOff(w)
		}
		_, _ = io.WriteString(w, "event: end\ndata: {}\n\n")
	})
	got, err := streams()[1].read(t.Context(), c, 0)
	if err != nil || !slices.Equal(got, []pawl.Seq{0}) {
		t.Errorf("updates %v, %v", got, err)
	}
}

func TestStreamErrors(t *testing.T) {
	damaged := `{"title":"Internal Server Error","status":500,"detail":"event 2 is damaged","code":"damaged","hint":"keep a copy"}`
	for _, s := range streams() {
		fails := s.of(pause(1)) + map[string]string{"Events": `{"error":` + damaged + "}\n", "Watch": "event: error\ndata: " + damaged + "\n\n"}[s.name]
		newer := s.of(pause(1)) + strings.Replace(s.of(pause(2)), "run_paused", "run_teleported", 1)
		for _, test := range []struct {
			name, body string
			code       pawl.Code
			says       []string
		}{
			{"Told", fails, pawl.CodeDamaged, []string{"event 2 is damaged", "keep a copy"}},
			{"NewerKindOfEvent", newer, pawl.CodeUnavailable, []string{`unknown kind "run_teleported"`, "another version of pawl"}},
			{"NoJSON", s.of(pause(1)) + strings.Replace(s.of(pause(2)), `{"run"`, `<b>`, 1), pawl.CodeUnavailable, []string{"does not understand", "another version of pawl"}},
			{"NoBody", s.of(pause(1)) + strings.Replace(s.of(pause(2)), `{"reason":"lunch"}`, `7`, 1), pawl.CodeUnavailable, []string{"another version of pawl"}},
			{"ErrorOfAnotherForm", s.of(pause(1)) + strings.Replace(strings.TrimPrefix(fails, s.of(pause(1))), damaged, `["x"]`, 1), pawl.CodeUnavailable, []string{"another version of pawl"}},
		} {
			t.Run(s.name+test.name, func(t *testing.T) {
				var mu sync.Mutex
				asked := 0
				c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) {
					mu.Lock()
					defer mu.Unlock()
					asked++
					_, _ = io.WriteString(w, test.body+s.end)
				})
				got, err := s.read(t.Context(), c, 0)
				mustBe(t, err, test.code, test.says...)
				if !slices.Equal(got, []pawl.Seq{1}) || asked != 1 {
					t.Errorf("events %v, asked for %d times", got, asked)
				}
			})
		}
		t.Run(s.name+"Large", func(t *testing.T) {
			large := pause(1)
			large.Body = &pawl.RunPaused{Reason: strings.Repeat("long ", 500_000)}
			c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s.of(large)+s.end) })
			if got, err := s.read(t.Context(), c, 0); err != nil || len(got) != 1 {
				t.Errorf("events %v, %v", got, err)
			}
		})
		t.Run(s.name+"ReaderThatStops", func(t *testing.T) {
			ended := make(chan struct{})
			c, _ := mustAnswer(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, s.of(pause(1)))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				close(ended)
			})
			if s.name == "Watch" {
				for range c.Watch(t.Context(), "001-a", 0) {
					break
				}
			} else {
				for range c.Events(t.Context(), "001-a", 0) {
					break
				}
			}
			<-ended
		})
		t.Run(s.name+"ContextThatEnds", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c, _ := mustAnswer(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, s.of(pause(1)))
				_ = http.NewResponseController(w).Flush()
				cancel()
				<-r.Context().Done()
			})
			if _, err := s.read(ctx, c, 0); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("WatchPassesOverWhatItDoesNotKnow", func(t *testing.T) {
		s := streams()[1]
		c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, ": pawl\n\nretry: 10\n\nevent: weather\nid: 7\ndata: {\"sun\":1}\n\n: alive\n\n"+s.of(pause(1))+s.end)
		})
		if got, err := s.read(t.Context(), c, 0); err != nil || !slices.Equal(got, []pawl.Seq{1}) {
			t.Errorf("updates %v, %v", got, err)
		}
	})
}

func TestAnswers(t *testing.T) {
	calls := map[string]func(ctx context.Context, c *client.Client) error{
		"Start": func(ctx context.Context, c *client.Client) error {
			_, err := c.Start(ctx, pawl.StartRequest{})
			return err
		},
		"Fork":  func(ctx context.Context, c *client.Client) error { _, err := c.Fork(ctx, "001-a", 5); return err },
		"Steer": func(ctx context.Context, c *client.Client) error { return c.Steer(ctx, "001-a", pawl.Steering{}) },
		"Runs":  func(ctx context.Context, c *client.Client) error { _, err := c.Runs(ctx); return err },
		"Blob": func(ctx context.Context, c *client.Client) error {
			_, err := c.Blob(ctx, "001-a", pawl.HashOf(nil))
			return err
		},
		"Events": func(ctx context.Context, c *client.Client) error { _, err := streams()[0].read(ctx, c, 0); return err },
		"Watch":  func(ctx context.Context, c *client.Client) error { _, err := streams()[1].read(ctx, c, 0); return err },
	}
	for name, call := range calls {
		t.Run(name+"Refused", func(t *testing.T) {
			c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `{"title":"Conflict","status":409,"detail":"run 001-a is paused: <no>","code":"state","hint":"resume it"}`)
			})
			err := call(t.Context(), c)
			if e, ok := errors.AsType[*pawl.Error](err); !ok || *e != (pawl.Error{Code: pawl.CodeState, Message: "run 001-a is paused: <no>", Hint: "resume it"}) {
				t.Errorf("got %+v", err)
			}
		})
		t.Run(name+"ByWhoIsNoPawl", func(t *testing.T) {
			c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "<html>nothing here", http.StatusBadGateway)
			})
			mustBe(t, call(t.Context(), c), pawl.CodeUnavailable, "502 Bad Gateway", "another version of pawl")
		})
		t.Run(name+"WithoutAnOwner", func(t *testing.T) {
			socket := mustSocket(t)
			c := client.New(socket)
			mustBe(t, call(t.Context(), c), pawl.CodeUnavailable, "does not answer", socket, "try again")
		})
		t.Run(name+"GivenUp", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			c, _ := mustAnswer(t, func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				cancel()
				<-r.Context().Done()
			})
			if err := call(ctx, c); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, name := range []string{"Start", "Fork", "Steer", "Runs"} {
		t.Run(name+"NoJSON", func(t *testing.T) {
			c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") })
			mustBe(t, calls[name](t.Context(), c), pawl.CodeUnavailable, "does not understand", "another version of pawl")
		})
		t.Run(name+"CutOff", func(t *testing.T) {
			c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `[`)
				cutOff(w)
			})
			mustBe(t, calls[name](t.Context(), c), pawl.CodeUnavailable, "does not answer")
		})
	}
}

func TestBlob(t *testing.T) {
	content := []byte("what was stored")
	hash := pawl.HashOf(content)
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter)
		code   pawl.Code
	}{
		"Other":   {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "something else") }, pawl.CodeDamaged},
		"Shorter": {func(w http.ResponseWriter) { _, _ = w.Write(content[:5]) }, pawl.CodeDamaged},
		"CutOff": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = w.Write(content[:5])
		}, pawl.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := mustAnswer(t, func(w http.ResponseWriter, _ *http.Request) { test.answer(w) })
			data, err := c.Blob(t.Context(), "001-a", hash)
			mustBe(t, err, test.code)
			if data != nil {
				t.Errorf("and %q", data)
			}
		})
	}
}
