/**
 * Where an engine starts: find a backend, select one, open a device. {@link io.holdfast.Backends}
 * explains what it saw and why it chose.
 */
@NullMarked
package io.holdfast;

import org.jspecify.annotations.NullMarked;
