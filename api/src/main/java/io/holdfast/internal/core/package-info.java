/**
 * A backend, its devices, streams and events over the two ports. Policy of memory, pins and copies
 * lives in rooms of its own and stands on what is here.
 */
@NullMarked
package io.holdfast.internal.core;

import org.jspecify.annotations.NullMarked;
