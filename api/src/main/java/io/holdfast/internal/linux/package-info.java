/**
 * The Linux side of the host port: the C library and the system calls over FFM, with errno captured
 * by each call. Nothing here decides anything; whoever wants policy looks above the port.
 */
@NullMarked
package io.holdfast.internal.linux;

import org.jspecify.annotations.NullMarked;
