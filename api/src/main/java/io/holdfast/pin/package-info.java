/**
 * Host memory pinned for devices: the plan, the pins, and the slots that copies use. A range is
 * always whole backing pages, and what cannot be unpinned is never unmapped.
 */
@NullMarked
package io.holdfast.pin;

import org.jspecify.annotations.NullMarked;
