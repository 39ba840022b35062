/**
 * A simulated host: nodes, pools of huge pages, cgroups, mounts and files behind the host port,
 * with the kernel's answers where something is missing. Regions of terabytes are sparse files and
 * cost nothing until they are touched; {@link io.holdfast.backend.cpusim.host.SimHost} outlives its
 * processes, so that one can be killed and the rest looked at.
 */
@NullMarked
package io.holdfast.backend.cpusim.host;

import org.jspecify.annotations.NullMarked;
