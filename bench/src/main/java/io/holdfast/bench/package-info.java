/**
 * The {@code holdfast} command. Each subcommand is a class here; what it runs lives in a room of
 * its own.
 */
@NullMarked
package io.holdfast.bench;

import org.jspecify.annotations.NullMarked;
