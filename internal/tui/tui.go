package tui

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"pawl"
)

// Options are what the program is given.
type Options struct {
	// Open reaches the daemon. It is called again after the daemon was lost. here is the id
	// of the project whose repository the program was begun in; empty = it was in none.
	Open func(context.Context) (p pawl.Projects, here string, err error)
	// Diff is what differs between two commits of the repository at a root, as git
	// prints it; nil shows no differences.
	Diff func(ctx context.Context, root string, from, to pawl.CommitHash) ([]byte, error)
	In   io.Reader
	Out  io.Writer
	// Environ is "NAME=value"; what it says of the terminal is believed, the terminal
	// is not asked.
	Environ []string
	Color   bool
	ASCII   bool   // the terminal shows nothing else
	By      string // who answers, at most 60 bytes
	// Run is the run to begin at: its id, its number, or the beginning of its id;
	// empty = the newest. It is one of the project that the program was begun in, if any.
	Run string
	Now func() time.Time
}

// framesPerSecond is how often the screen is drawn at most.
const framesPerSecond = 20

// Run shows the program until the user quits or ctx ends.
func Run(ctx context.Context, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the watchers
	m := newModel(newSource(ctx, o), pen{color: o.Color, ascii: o.ASCII}, o.By, o.Run)
	profile := colorprofile.ASCII
	if o.Color {
		profile = colorprofile.ANSI
	}
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ),
		tea.WithColorProfile(profile), tea.WithFPS(framesPerSecond))
	if _, err := p.Run(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, tea.ErrInterrupted) {
		return pawl.Errorf(pawl.CodeInternal, "the terminal program ended: %w", err)
	}
	return nil
}
