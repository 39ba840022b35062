/**
 * Long measurements in which Holdfast, plain C and PyTorch take turns in one run, and trials that
 * show a promise kept on real hardware. Each writes JSON lines as it goes and can run alone.
 */
@NullMarked
package io.holdfast.bench.experiment;

import org.jspecify.annotations.NullMarked;
