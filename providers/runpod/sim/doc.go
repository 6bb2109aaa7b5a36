// Package sim is a Runpod that runs on this machine. It answers the REST API
// v2 on loopback, rents nothing, and its pods are real processes that run the
// very command a real pod would run and are reached over real SSH.
//
// A simulator has a home directory: its address while it runs, what its
// account holds, a journal of every request, the disks of its pods and its
// network volumes. One process serves one home. What the account owns outlives
// the process, the pods do not: they end with it, however it ends.
//
// Beside the API under /v2 the same listener has a control part under /sim,
// used by Client: status, catalog, faults, speed, the journal. It is for this
// machine only.
//
// The package imports no type of the client it is tested against: a wrong name
// on one side must not be right on the other.
package sim
