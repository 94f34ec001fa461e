// Package engine holds the runs of one project and implements pawl.Service over
// them: it numbers and freezes what is started, hands it to the driver, and lets
// any number of watchers follow. It is made in the one process that owns the
// project; Reader is what the others see when nobody does.
//
// A watcher registers, asks whether the run is driven, and only then reads the
// log; whoever appends does so before it wakes watchers, and a driver lets go of
// a run before it does. So a watcher that found the run driven is woken for
// whatever it has not read, the end included, and one that did not find it driven
// has read everything. Servicetest is the suite for this and every other Service.
package engine
