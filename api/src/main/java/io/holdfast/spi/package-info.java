/**
 * What a vendor implements: the provider, the accelerator port and, where the machine is not this
 * one, the host port. {@link io.holdfast.spi.StandardBackend} puts all policy on top of the two
 * ports.
 */
@NullMarked
package io.holdfast.spi;

import org.jspecify.annotations.NullMarked;
