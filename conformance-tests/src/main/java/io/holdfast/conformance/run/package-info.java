/**
 * Runs the rules against a backend by its id and writes reports: the command, and what a report is
 * made of. Runs can be cut into parts, and parts go on where they were stopped.
 */
@NullMarked
package io.holdfast.conformance.run;

import org.jspecify.annotations.NullMarked;
