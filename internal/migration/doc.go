// Package migration proves docs/migration.md: in a copy of examples/legacy-service, it
// applies the patches of docs/migration one after the other, as the document says, and
// after each
//
//   - vets and tests the service, with the very commands that the document shows;
//   - compares what the document quotes: each block of a patch with the patch, and each
//     block of output with what was printed;
//   - runs a process of this step and one of the step before on the same data, which is
//     what a rolling deployment and a way back are.
//
// What the document says that migrate-check has written of a patch, it writes again.
//
// The copy is a module of its own whose code of ours is this tree. It needs the git and
// the go command, and no server and no network.
//
// docs/migration/steps.sh makes a git repository of the patches, and patches of it
// again, for whoever changes a step.
package migration
