// Package delegate drives coding agents that the user has installed. Below it is a package for each
// protocol by which they are driven, and what these share: see [pawl.Agent].
package delegate
