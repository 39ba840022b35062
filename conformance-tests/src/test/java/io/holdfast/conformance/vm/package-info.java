/**
 * A machine of two nodes, booted in software emulation, and what a page source must do in it. The
 * classes named Guest run inside the machine, the test that boots it collects their results.
 */
@NullMarked
package io.holdfast.conformance.vm;

import org.jspecify.annotations.NullMarked;
