// Pins Kueue and KAI-Scheduler for their CRDs: nothing of them is built, so no dependency of theirs is listed.
module phalanx.test/testbed/peers

go 1.26.0

require (
	github.com/NVIDIA/KAI-scheduler v0.12.0
	sigs.k8s.io/kueue v0.19.1
)
