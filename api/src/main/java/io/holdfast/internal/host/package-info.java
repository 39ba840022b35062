/**
 * The one implementation of the page source: limits, mapping, placement, populate, receipts. Above
 * the host port, for every kernel.
 */
@NullMarked
package io.holdfast.internal.host;

import org.jspecify.annotations.NullMarked;
