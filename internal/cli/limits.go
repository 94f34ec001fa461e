package cli

import (
	"github.com/spf13/cobra"

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

// GivenLimits reads the limits on the command line as a configuration does. What
// it returns puts them in the place of the run's; nil when there are none.
func GivenLimits(cmd *cobra.Command) (func(pawl.Limits) pawl.Limits, error) {
	var flags []config.Flag
	for _, l := range limits {
		if f := cmd.Flags().Lookup(l.flag); f.Changed {
			value := f.Value.String()
			if l.flag == "max-time" {
				value = Minutes(value)
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
