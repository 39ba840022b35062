/**
 * Where the kit stands between policy and ports: it keeps books of what policy takes and gives
 * back, writes down what it asks for, and makes calls fail. It works on every backend that is built
 * by {@link io.holdfast.spi.StandardBackend}, real devices included.
 */
@NullMarked
package io.holdfast.conformance.tap;

import org.jspecify.annotations.NullMarked;
