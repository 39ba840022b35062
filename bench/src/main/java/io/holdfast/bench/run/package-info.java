/**
 * Runs the benchmarks and writes one folder: what the machine is, what ran, and every figure. It
 * changes nothing on the machine and draws no conclusions; {@code report} does.
 */
@NullMarked
package io.holdfast.bench.run;

import org.jspecify.annotations.NullMarked;
