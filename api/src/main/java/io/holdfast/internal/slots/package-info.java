/**
 * Host slots: which bytes of pinned memory are which block, who uses a slot now, and in what order
 * copies may touch it.
 */
@NullMarked
package io.holdfast.internal.slots;

import org.jspecify.annotations.NullMarked;
