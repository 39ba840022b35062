/**
 * Blocks moved between device and host slots, ordered so that it cannot go wrong. A route resolves
 * geometry once; a submission names blocks and an order.
 */
@NullMarked
package io.holdfast.copy;

import org.jspecify.annotations.NullMarked;
