/**
 * Where blocks lie, as values: what one block is made of, and which bytes of a region it takes.
 * Everything here is immutable, knows no memory and no device, and calculates in checked {@code
 * long} bytes.
 */
@NullMarked
package io.holdfast.layout;

import org.jspecify.annotations.NullMarked;
