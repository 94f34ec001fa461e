// Package engine holds the runs of one project and implements pawl.Service over
// them: it numbers and freezes what is started, hands it to the driver, and lets
// any number of watchers follow. It is made in the one process that owns the
// project; Reader is what the others see when nobody does.
package engine
