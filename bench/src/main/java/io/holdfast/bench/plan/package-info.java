/**
 * Registration plans for people and scripts: geometries in, plans or reasons out. No driver is
 * asked and no memory is touched.
 */
@NullMarked
package io.holdfast.bench.plan;

import org.jspecify.annotations.NullMarked;
