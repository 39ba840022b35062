/**
 * The host port where no other is: plain segments of the Java runtime, on any operating system.
 * What it cannot do it says, so that a receipt never claims pages that nobody controls.
 */
@NullMarked
package io.holdfast.internal.portable;

import org.jspecify.annotations.NullMarked;
