/**
 * The one-call facade for engines: region, pins and route in one object. It adds no behaviour of
 * its own.
 */
@NullMarked
package io.holdfast.pool;

import org.jspecify.annotations.NullMarked;
