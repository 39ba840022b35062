/** Tests of who stands on whom. */
@NullMarked
package io.holdfast.internal.tree;

import org.jspecify.annotations.NullMarked;
