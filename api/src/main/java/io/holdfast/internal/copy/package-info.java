/**
 * The one implementation of the copy engine: descriptors, merging, splitting, paths, completion.
 * Above the accelerator port, for every driver.
 */
@NullMarked
package io.holdfast.internal.copy;

import org.jspecify.annotations.NullMarked;
