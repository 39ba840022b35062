/**
 * A machine to break: simulated devices on this host's own memory or on a simulated one, as a
 * backend and as the object that tests hold. {@link io.holdfast.backend.cpusim.SimMachine} is where
 * to begin; {@link io.holdfast.backend.cpusim.SimEngine} plays the engine beside Holdfast.
 */
@NullMarked
package io.holdfast.backend.cpusim;

import org.jspecify.annotations.NullMarked;
