/**
 * The simulated driver: the rules of CUDA and HIP, once, behind entry points that answer with codes
 * as the C functions do. A port or a fake native library stands on top; faults, the ledger and the
 * personalities of driver versions live here.
 */
@NullMarked
package io.holdfast.backend.cpusim.driver;

import org.jspecify.annotations.NullMarked;
