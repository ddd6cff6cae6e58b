// Package migration tests docs/migration.md: in a copy of examples/legacy-service, it applies the patches
// of docs/migration one after the other, as the document describes, and after each
//
//   - vets and tests the service, with the commands of the document;
//   - compares the document's quotations: each block of a patch with the patch, and each
//     block of output with the actual output;
//   - runs a process of this step and one of the step before on the same data, as in
//     a rolling deployment or a rollback.
//
// If the document attributes a part of a patch to migrate-check, the test runs migrate-check again.
//
// The copy is a separate module that uses this tree. It needs the git and the go command, and no server and
// no network.
//
// docs/migration/steps.sh makes a git repository of the patches, and patches of the repository, to change a
// step.
package migration
