/** Tests of the simulated machine from outside: through the port, as core and engines use it. */
@NullMarked
package io.holdfast.backend.cpusim;

import org.jspecify.annotations.NullMarked;
