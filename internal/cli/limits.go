package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl"
	"pawl/internal/config"
)

// limits are the flags that change a limit, each with its setting and what it replaces.
var limits = []struct {
	flag, key string
	replace   func(l *pawl.Limits, given pawl.Limits)
}{
	{"max-iterations", "limits.iterations", func(l *pawl.Limits, given pawl.Limits) { l.Iterations = given.Iterations }},
	{"budget", "limits.money_usd", func(l *pawl.Limits, given pawl.Limits) { l.Money = given.Money }},
	{"max-tokens", "limits.tokens", func(l *pawl.Limits, given pawl.Limits) { l.Tokens = given.Tokens }},
	{"max-time", "limits.time_minutes", func(l *pawl.Limits, given pawl.Limits) { l.Time = given.Time }},
}

// LimitFlags adds the flags that change the limits of a run that goes on.
func LimitFlags(f *pflag.FlagSet) {
	f.String("max-iterations", "", "make at most `N` attempts, those so far included")
	f.String("budget", "", "spend at most this much, in `USD`, money spent so far included; 0 means no limit")
	f.String("max-tokens", "", "use at most `N` tokens, those used so far included; 0 means no limit")
	f.String("max-time", "", "work for at most this `TIME`, time so far included: minutes, or 90m, 8h; 0 means no limit")
}

// GoesOn says where a run goes on that a command has resumed.
func GoesOn(s *Session, info pawl.RunInfo) string {
	where := "here"
	switch {
	case s.Daemon:
		where = "in the daemon; Ctrl-C only stops following"
	case !s.Owner:
		where = "in another process; Ctrl-C only stops following"
	}
	return "Run " + string(info.ID) + " continues " + where
}

// GivenLimits reads the limits on the command line as a configuration does. What
// it returns puts them in place of the run's; nil when there are none.
func GivenLimits(cmd *cobra.Command) (func(pawl.Limits) pawl.Limits, error) {
	var flags []config.Flag
	for _, l := range limits {
		if f := cmd.Flags().Lookup(l.flag); f.Changed {
			value := f.Value.String()
			if l.flag == "max-time" {
				value = config.Minutes(value)
			}
			flags = append(flags, config.Flag{Name: "--" + l.flag, Key: l.key, Value: value})
		}
	}
	if flags == nil {
		return nil, nil
	}
	cfg, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		return nil, err
	}
	settings, err := cfg.Settings()
	if err != nil {
		return nil, err
	}
	return func(now pawl.Limits) pawl.Limits {
		for _, l := range limits {
			if cmd.Flags().Changed(l.flag) {
				l.replace(&now, settings.Limits)
			}
		}
		return now
	}, nil
}
