/**
 * The main job: a pool on this machine's memory, blocks moved between it and a device, every byte
 * checked. What it finds is a value; the command prints it.
 */
@NullMarked
package io.holdfast.bench.soak;

import org.jspecify.annotations.NullMarked;
