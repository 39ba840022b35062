/**
 * The one implementation of extensible device memory. Above the accelerator port, for every driver
 * that has virtual memory.
 */
@NullMarked
package io.holdfast.internal.extensible;

import org.jspecify.annotations.NullMarked;
