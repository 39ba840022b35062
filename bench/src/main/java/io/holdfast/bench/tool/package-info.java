/**
 * What all subcommands share: exit codes, sizes, where to write, and an orderly end at a signal. It
 * knows no subcommand.
 */
@NullMarked
package io.holdfast.bench.tool;

import org.jspecify.annotations.NullMarked;
