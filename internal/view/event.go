package view

import (
	"cmp"

	"pawl"
)

// A noun's file has up to three functions for its events: applyX folds them into the run, tellX
// puts them into words, and lookX says how their lines look. A new event is a case of these. Only
// a new noun is added to the lists here.

// Apply folds one event. Events are applied in order, each once. An event that
// makes no sense here, such as one about a loop nobody started, changes nothing
// but the header: projections of a damaged run are better than none.
func (r *Run) Apply(e pawl.Event) {
	delete(r.waiting, 0) // its log has been written
	r.pass(e)
	r.Records.Add(e)
	l, f := r.loop(e.Loop), r.ended(e)
	r.applyLimit(e)
	r.applyEffect(l, e, f)
	r.applyQuestion(l, e)
	r.applyMemory(l, e)
	r.applyFork(e)
	r.applyFallback(e)
	r.applyLoop(l, e)
	if l == nil {
		r.applyRun(e)
		return
	}
	r.applySignal(e)
	r.applyGeneration(l, e)
	r.applyIteration(l, e)
	r.applyCouncil(l, e)
	r.applySession(l, e, f)
	r.applyWorkspace(l, e, f)
	r.applyPublish(l, e, f)
	r.applyPreparation(e)
	r.applyGate(l, e)
	r.applyEvidence(l, e)
	r.applyGoals(l, e)
	r.applyPlan(l, e)
	r.applyMerge(l, e, f)
	r.applyBatch(l, e)
	r.applyHealth(l, e)
	r.applyCheckpoint(l, e, f)
}

// tell returns an event in words: those of its noun.
func (t teller) tell() string {
	return cmp.Or(t.tellRun(), t.tellLimit(), t.tellEffect(), t.tellLoop(), t.tellGeneration(), t.tellSignal(), t.tellIteration(),
		t.tellCouncil(), t.tellSession(), t.tellWorkspace(), t.tellPublish(), t.tellPreparation(), t.tellGate(), t.tellEvidence(), t.tellGoals(), t.tellPlan(), t.tellMerge(),
		t.tellQuestion(), t.tellMemory(), t.tellBatch(), t.tellHealth(), t.tellCheckpoint(), t.tellFork(), t.e.Body.EventKind().String())
}

// LookOf returns how an event's line looks: Important and plain, except where the file of the
// event's noun says otherwise. A plain line below Important is quiet.
func LookOf(e pawl.Event) Look {
	k := Look{Level: Important}
	k.lookRun(e)
	k.lookLimit(e)
	k.lookEffect(e)
	k.lookLoop(e)
	k.lookGeneration(e)
	k.lookSignal(e)
	k.lookIteration(e)
	k.lookCouncil(e)
	k.lookSession(e)
	k.lookWorkspace(e)
	k.lookPreparation(e)
	k.lookGate(e)
	k.lookEvidence(e)
	k.lookGoals(e)
	k.lookPlan(e)
	k.lookMerge(e)
	k.lookQuestion(e)
	k.lookMemory(e)
	k.lookBatch(e)
	k.lookHealth(e)
	k.lookCheckpoint(e)
	if k.Tone == TonePlain && k.Level < Important {
		k.Tone = ToneQuiet
	}
	return k
}
