/**
 * The simulated driver as a native library: C exports with the true prototypes hand their arguments
 * to Java, and the simulator answers. For tests of bindings, which so run whole on a machine
 * without a device; the module exports nothing of it.
 *
 * <p>A front end is one C file that includes {@code shim.h} and one {@link
 * io.holdfast.backend.cpusim.shim.ExportTable} that answers its exports. No rule of a driver is
 * written in either.
 */
@NullMarked
package io.holdfast.backend.cpusim.shim;

import org.jspecify.annotations.NullMarked;
