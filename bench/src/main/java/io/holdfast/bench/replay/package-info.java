/**
 * A recording of JDK Flight Recorder done again on a simulated machine: its events say what was
 * opened, copied, changed and closed, and the comparison says what came out the same.
 */
@NullMarked
package io.holdfast.bench.replay;

import org.jspecify.annotations.NullMarked;
