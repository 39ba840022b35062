/**
 * What a backend did, for Micrometer. Optional: Holdfast itself needs no Micrometer, and this is
 * the only package that names it.
 */
@NullMarked
package io.holdfast.micrometer;

import org.jspecify.annotations.NullMarked;
