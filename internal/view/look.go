package view

import "pawl"

// Level says how much an event matters to someone who follows a run.
type Level int

// The levels, least first.
const (
	Detail    Level = iota // bookkeeping: for looking into Pawl itself
	Normal                 // what agents do: calls, replies, tools
	Important              // what the run comes to: iterations, verdicts, decisions, trouble
)

// Tone says in which colour a face shows a line.
type Tone int

// The tones.
const (
	TonePlain Tone = iota
	ToneQuiet
	ToneGood
	ToneWarning
	ToneBad
	ToneActive // it is active now
)

// Look says how the line of an event looks.
type Look struct {
	Level Level
	Tone  Tone
}

// LevelOf returns how much an event's line matters.
func LevelOf(e pawl.Event) Level { return LookOf(e).Level }
