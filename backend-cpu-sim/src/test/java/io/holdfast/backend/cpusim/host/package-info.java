/** Tests of the simulated host against what kernels answer. */
@NullMarked
package io.holdfast.backend.cpusim.host;

import org.jspecify.annotations.NullMarked;
