/**
 * Devices and what is on them: memory, streams, events, and the order between an engine's work and
 * ours. Nothing here can be dereferenced by the CPU.
 */
@NullMarked
package io.holdfast.device;

import org.jspecify.annotations.NullMarked;
