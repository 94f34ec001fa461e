// Package delegate holds the implementations of [pawl.Agent], in one package per protocol.
package delegate
