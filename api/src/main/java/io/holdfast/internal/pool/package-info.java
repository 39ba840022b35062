/**
 * The facade's one implementation. It puts region, pins and route together and adds no behaviour.
 */
@NullMarked
package io.holdfast.internal.pool;

import org.jspecify.annotations.NullMarked;
