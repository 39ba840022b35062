/** Tests of the simulated driver's parts against oracles and of its entry points. */
@NullMarked
package io.holdfast.backend.cpusim.driver;

import org.jspecify.annotations.NullMarked;
