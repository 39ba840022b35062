/**
 * Who stands on whom, and how things come down. Closing anything first closes what stands on it,
 * newest first; everything that can be refused is asked before the first thing is undone.
 */
@NullMarked
package io.holdfast.internal.tree;

import org.jspecify.annotations.NullMarked;
