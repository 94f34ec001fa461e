package cli

import (
	"context"

	"pawl"
	"pawl/internal/view"
)

// Asking are the runs that may have open questions: the one that an argument names,
// or all that have not ended. Of these, one that cannot be read keeps nobody from the
// others: it is said, and left out.
func (a *App) Asking(ctx context.Context, s *Session, args []string) ([]*view.Run, error) {
	if len(args) > 0 {
		info, err := Find(ctx, s, args[0])
		if err != nil {
			return nil, err
		}
		r, err := Fold(ctx, s, info.ID)
		if err != nil {
			return nil, err
		}
		return []*view.Run{r}, nil
	}
	runs, err := s.Runs(ctx)
	if err != nil {
		return nil, err
	}
	var out []*view.Run
	for _, info := range runs {
		if info.Status == pawl.StatusEnded && info.Questions == 0 || info.Status == pawl.StatusQuarantined {
			continue
		}
		r, err := Fold(ctx, s, info.ID)
		switch {
		case pawl.CodeOf(err) == pawl.CodeDamaged:
			a.Notef("run %s cannot be read: %v", info.ID, err)
		case err != nil:
			return nil, err
		default:
			out = append(out, r)
		}
	}
	return out, nil
}
