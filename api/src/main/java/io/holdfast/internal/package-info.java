/**
 * The one implementation of the values and sides that the exported packages hand out. Reached only
 * from static factories.
 */
@NullMarked
package io.holdfast.internal;

import org.jspecify.annotations.NullMarked;
