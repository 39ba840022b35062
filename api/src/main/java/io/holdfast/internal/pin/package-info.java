/**
 * The one implementation of the pinner: it runs plans against a driver, paces the calls, rolls
 * back, and keeps the registry of what is pinned. Above the ports, for every backend.
 */
@NullMarked
package io.holdfast.internal.pin;

import org.jspecify.annotations.NullMarked;
