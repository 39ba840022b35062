/**
 * Engines beside Holdfast on CUDA's driver and HIP's runtime, by raw calls that share nothing with
 * the bindings that are judged: a witness of its own. Found by {@link
 * io.holdfast.conformance.EngineProvider}.
 */
@NullMarked
package io.holdfast.conformance.engine;

import org.jspecify.annotations.NullMarked;
