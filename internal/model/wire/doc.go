// Package wire holds what the adapters of remote models share, whatever
// protocol they speak: an HTTP exchange that is watched for silence and cannot
// grow without bound, the one place where a provider's statuses and texts
// become a [pawl.ModelError], and the few normalisations every reply needs.
//
// An adapter opens an [Exchange] per call, sends its request through
// [Exchange.Do], and passes whatever ended the call through [Exchange.Err].
package wire
