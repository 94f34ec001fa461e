// Package governor says which effect is performed next. There is one governor in a
// process, shared by all projects it serves, because what it shares out is the
// machine's and the user's, not a run's.
//
// # Places
//
// An effect that costs something takes a place in two pools before it is performed:
//
//	a model call     machine, account:PROVIDER
//	a tool call      machine, lane:no-net or lane:net or lane:heavy, by its tool
//	a preparation    machine, lane:net
//	a command gate   machine, lane:heavy; lane:no-net if it is light
//
// It takes both or none, so nothing that holds a place waits for another one, and
// nothing can deadlock. A project has at most all heavy places but one, unless there is only
// one, so that a slow suite keeps no other repository waiting. Everything else (prompts, commits, merges, timers) needs none.
// Places are taken by effects, not by loops: a loop that waits for its children, a
// person or a back-off has no effect here and holds nothing.
//
// # Whose turn it is
//
// Runs share each pool by deficit round-robin (Shreedhar and Varghese, "Efficient Fair
// Queueing using Deficit Round Robin", SIGCOMM 1995): in each round a run is given a
// quantum of time in places, and what it does not use, or uses too much, counts in the
// next. There the size of a packet is known before it is sent. How long an effect takes
// is known when it is over, so here
//
//   - a run is served while it has anything left, whatever the effect will cost, and is
//     charged as the time passes: its deficit goes below zero, and the rounds that
//     follow pay for that before it is served again. It can be ahead of its due by what
//     it had under way, one effect a place, where there it is one packet.
//   - among the runs that have something left, the one with the fewest places in the pool
//     is served, and of these the one that was served longest ago. Time that is not yet
//     charged is so not handed out twice.
//   - what a run uses of a pool is free while the pool has room or no other run waits for
//     it; and while nobody waits, debts are forgiven at the rate at which the pool could
//     have paid them. A run that has nothing to do gathers no credit.
//
// Where an account or lane is what is scarce, it says whose turn it is there, and the
// machine chooses among those. Of one run's effects the oldest that can have its places
// goes first.
//
// # Limits of providers
//
// The places of account:PROVIDER are the provider's, over all its accounts. What it says
// concerns one account alone, an address and a key (see [pawl.Account]): effects of a closed
// account stand in nobody's way.
//
// A model's answer tells when an account is used up. A rate limit, or a refusal by any other
// name that ends at a time the provider names, closes the account until then. A rate limit
// without a time closes it for two seconds doubling up to 64 as long as nothing succeeds in
// between. It opens by itself. A key that is refused, or a quota that is used up for good, trips
// a breaker: effects that wait for the account, and those that come, fail with that error instead
// of being sent. After [BreakerRest], or when a person starts or resumes a run, the next effect
// that gets its places is sent as a probe, and the others wait for its answer.
//
// # Why a mutex
//
// Who gets a place is no decision of a run: it is in no log, it is not replayed, and
// after a restart everybody asks again. What is under the mutex is a plain structure
// (desk) that has no clock and does no I/O, for some microseconds. A goroutine with a
// channel would be a second queue in front of the one that is kept here.
package governor
