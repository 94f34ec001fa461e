package local

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/driver"
)

func TestBlobCacheKeepsTheLatest(t *testing.T) {
	quarter := bytes.Repeat([]byte{1}, blobCacheSize/4+1)
	names := map[pawl.Hash]byte{}
	blob := func(name byte, size int) pawl.Blob {
		b := pawl.NewBlob(append([]byte{name}, quarter[1:size]...))
		names[b.Hash()] = name
		return b
	}
	c := newBlobCache()
	held := func(step, want string) {
		t.Helper()
		var got []byte
		for hash, name := range names {
			if _, ok := c.get(hash); ok {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if string(got) != want {
			t.Errorf("%s: the cache holds %q, want %q", step, got, want)
		}
	}
	full := len(quarter) - 1
	c.add([]pawl.Blob{blob('a', full), blob('b', full), blob('c', full), blob('d', full)})
	held("exactly full", "abcd")
	c.add([]pawl.Blob{blob('b', full)})
	held("a blob added again", "abcd")
	c.add([]pawl.Blob{blob('e', 1)})
	held("one byte more", "bcde")
	c.add([]pawl.Blob{blob('f', full-1)})
	held("exactly full again", "bcdef")
	c.add([]pawl.Blob{blob('g', full), blob('h', full)})
	held("two more blobs", "defgh")
	c.add([]pawl.Blob{blob('i', full+1)})
	held("a blob larger than a quarter", "defgh")
}

// A change of a field that lists show makes the driver store the run's line again; a change
// of any other field does not.
func TestChangedLines(t *testing.T) {
	shown := []string{"Status", "Outcome", "Iteration", "Max", "Tier", "Tasks", "Passed", "Health", "Questions"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[pawl.RunInfo]()) {
		var a, b pawl.RunInfo
		v := reflect.ValueOf(&b).Elem().FieldByIndex(field.Index)
		switch {
		case v.CanInt():
			v.SetInt(1)
		case v.CanUint():
			v.SetUint(1)
		case v.Kind() == reflect.String:
			v.SetString("x")
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		case v.Kind() == reflect.Pointer: // what is true for a moment is not stored
			v.Set(reflect.New(v.Type().Elem()))
		case v.Type() == reflect.TypeFor[pawl.Proof]():
			v.Set(reflect.ValueOf(pawl.Proof{Goals: 1}))
		case v.Type() == reflect.TypeFor[time.Time]():
			v.Set(reflect.ValueOf(time.Unix(1, 0)))
		default:
			t.Fatalf("the test has no other value for field %s of type %s", field.Name, field.Type)
		}
		if want := slices.Contains(shown, field.Name); changed(a, b) != want || changed(b, a) != want || changed(b, b) {
			t.Errorf("a change of %s makes changed %t, want %t", field.Name, changed(a, b), want)
		}
	}
}

func TestTimeouts(t *testing.T) {
	for _, test := range []struct {
		do         pawl.Do
		says, want time.Duration
	}{
		{&pawl.CallTool{}, time.Minute, time.Minute},
		{&pawl.CallTool{}, 1, 1},
		{&pawl.CallTool{}, 0, math.MaxInt64},
		{&pawl.CallTool{}, -1, math.MaxInt64},
		{&pawl.RunGate{}, time.Minute, 90 * time.Second},
		{&pawl.RunGate{}, 0, math.MaxInt64},
	} {
		if got := timeout(&pawl.Effect{Do: test.do, Timeout: test.says}); got != test.want {
			t.Errorf("%s with timeout %s may take %s, want %s", test.do.Verb(), test.says, got, test.want)
		}
	}
}

type performerFunc func(ctx context.Context) pawl.Answer

func (f performerFunc) Perform(ctx context.Context, _ driver.Job) (pawl.Answer, []pawl.Blob) {
	return f(ctx), []pawl.Blob{pawl.NewBlob(nil)}
}

// What a performer returns in time is the answer. After the timeout a fact is still the
// answer, and anything else becomes a failure that names the timeout.
func TestAnswersInAndOutOfTime(t *testing.T) {
	fact := &pawl.ToolReturned{Effect: 7}
	failure := failed(7, pawl.FailMachine, "no space left")
	for name, test := range map[string]struct {
		returned, inTime, late pawl.Answer
	}{
		"Fact":    {fact, fact, fact},
		"Failure": {failure, failure, failed(7, pawl.FailTimeout, "it took longer than 1m")},
		"Nothing": {nil, failed(7, pawl.FailDefect, "there is no answer"), failed(7, pawl.FailTimeout, "it took longer than 1m")},
	} {
		for _, late := range []bool{false, true} {
			want := test.inTime
			if late {
				want = test.late
			}
			synctest.Test(t, func(t *testing.T) {
				r := &run{d: &Driver{Performer: performerFunc(func(ctx context.Context) pawl.Answer {
					if late {
						<-ctx.Done()
					}
					return test.returned
				})}}
				got, blobs := r.timed(t.Context(), driver.Job{Effect: &pawl.Effect{ID: 7, Do: &pawl.CallTool{}, Timeout: time.Minute}})
				if d := cmp.Diff(want, got); d != "" || (len(blobs) > 0) != (want == test.returned) {
					t.Errorf("%s, late: %t: %d blobs, and the answer differs (-want +got):\n%s", name, late, len(blobs), d)
				}
			})
		}
	}
}

func TestWaitsAreNoted(t *testing.T) {
	for _, test := range []struct{ waited, want time.Duration }{
		{0, 0},
		{10*time.Millisecond - 1, 0},
		{10 * time.Millisecond, 10 * time.Millisecond},
		{time.Second + 1400*time.Microsecond, time.Second + time.Millisecond},
	} {
		model, tool, failure := &pawl.ModelReplied{}, &pawl.ToolReturned{}, &pawl.EffectFailed{}
		for _, a := range []pawl.Answer{model, tool, failure, &pawl.Committed{}} {
			note(a, test.waited)
		}
		if model.Waited != test.want || tool.Waited != test.want || failure.Waited != test.want {
			t.Errorf("after a wait of %s the answers say %s, %s and %s, want %s", test.waited, model.Waited, tool.Waited, failure.Waited, test.want)
		}
	}
}

// queue lets all effects wait but those that have their places.
type queue map[pawl.Seq]bool

func (queue) Take(context.Context, driver.Job) (func(pawl.Answer), error) { return nil, nil }
func (queue) Wanted()                                                     {}
func (q queue) Waits(job driver.Job) (pawl.PoolLoad, bool) {
	return pawl.PoolLoad{Name: "lane:heavy"}, !q[job.Effect.ID]
}

// Of the effects of a run that wait, the one that has waited longest is named, and the others
// are counted. What has its places, or has ended, waits no more. F-24
func TestWaitsOfManyEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		has, told := queue{5: true}, map[pawl.Seq]int{}
		var mu sync.Mutex // guards told
		d := &Driver{Places: has, Live: func(_ pawl.RunID, l pawl.Live) {
			mu.Lock()
			defer mu.Unlock()
			told[l.Waiting.Effect]++
		}}
		job := func(run pawl.RunID, id pawl.Seq) driver.Job {
			return driver.Job{Run: run, Effect: &pawl.Effect{ID: id, Do: &pawl.RunGate{Gate: "tests"}}}
		}
		want := func(why string, oldest pawl.Seq, others int) {
			t.Helper()
			if w := d.Waiting("001"); (w == nil) != (oldest == 0) || w != nil && (w.Effect != oldest || w.Others != others) {
				t.Errorf("%s: it says %+v, want effect %d and %d others", why, w, oldest, others)
			}
		}
		elapse := func(by time.Duration) {
			<-time.After(by)
			synctest.Wait()
		}
		ends := map[pawl.Seq]func(){}
		for i, run := range []pawl.RunID{"001", "001", "001", "002", "001"} {
			id := pawl.Seq(i + 1)
			ends[id] = d.waits(job(run, id), time.Now(), "").end
			elapse(time.Millisecond)
		}
		want("at first", 0, 0)
		elapse(sayAfter)
		d.waiting["001"] = append(d.waiting["001"][1:], d.waiting["001"][0]) // in any order
		want("three wait", 1, 2)
		ends[1]()
		want("the first has ended", 2, 1)
		has[2] = true
		want("the second has its places", 3, 0)
		if d := cmp.Diff(map[pawl.Seq]int{1: 2, 2: 1, 3: 1, 4: 1}, told); d != "" {
			t.Errorf("how often it was told of each (-want +got):\n%s", d)
		}
		for _, end := range ends {
			end()
		}
		want("all have ended", 0, 0)

		// The time to say it may come at the moment the wait ends.
		late := &waiter{d: d, job: job("001", 9), since: time.Now()}
		late.timer = time.AfterFunc(sayAfter, late.say)
		late.end()
		late.say()
		if elapse(3 * sayAfter); told[9] != 0 || len(d.waiting) > 0 {
			t.Errorf("after its end it was told %d times that an effect waits, and noted are %v", told[9], d.waiting)
		}
	})
}

// held are places that runs of the project have, and runs of others.
type held struct {
	queue
	load atomic.Pointer[pawl.PoolLoad]
}

func (h *held) Waits(driver.Job) (pawl.PoolLoad, bool) { return *h.load.Load(), true }

// A run does not say that it waits for itself.
func TestWaitsForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := &held{}
		d := &Driver{Places: places, Live: func(pawl.RunID, pawl.Live) {}}
		end := d.waits(driver.Job{Run: "001", Effect: &pawl.Effect{ID: 1, Do: &pawl.RunGate{Gate: "lint"}}}, time.Now(), "").end
		for _, step := range []struct {
			load pawl.PoolLoad
			says bool
		}{
			{pawl.PoolLoad{Runs: []pawl.RunID{"001"}}, false},
			{pawl.PoolLoad{Runs: []pawl.RunID{"001", "002"}}, true},
			{pawl.PoolLoad{Runs: []pawl.RunID{"001"}}, true}, // it goes on to say what it began to say
		} {
			places.load.Store(&step.load)
			<-time.After(sayAfter)
			synctest.Wait()
			if w := d.Waiting("001"); (w != nil) != step.says {
				t.Errorf("with %+v it says %+v", step.load, w)
			}
		}
		end()
		for _, load := range []pawl.Waiting{{Runs: []pawl.RunID{"001"}, Elsewhere: 1}, {Runs: []pawl.RunID{"001"}, Until: time.Now()}, {}} {
			if w := (&waiter{job: driver.Job{Run: "001"}}); w.forItself(load) {
				t.Errorf("with %+v it waits for itself", load)
			}
		}
	})
}

// What a person says becomes a blob if the event has its hash.
func TestSaid(t *testing.T) {
	h := pawl.HashOf([]byte("x"))
	got := said([]pawl.Event{
		{Body: &pawl.QuestionAnswered{Text: "an answer", Said: h}},
		{Body: &pawl.QuestionAnswered{Text: "a choice alone"}},
		{Body: &pawl.SignalSent{Signal: pawl.SignalInfo, Reason: "a message", Payload: h}},
		{Body: &pawl.SignalSent{Signal: pawl.SignalInfo, Reason: "nothing to read"}},
		{Body: &pawl.SignalSent{Signal: pawl.SignalPause, Reason: "a pause", Payload: h}},
		{Body: &pawl.RunPaused{}},
	})
	if d := cmp.Diff([]pawl.Blob{pawl.NewBlob([]byte("an answer")), pawl.NewBlob([]byte("a message"))}, got); d != "" {
		t.Errorf("blobs (-want +got):\n%s", d)
	}
}
