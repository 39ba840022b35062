/**
 * The guide and the API as one folder of pages that works without a network. {@link Main} is the
 * command; what it writes is checked before it is done.
 */
@NullMarked
package io.holdfast.site;

import org.jspecify.annotations.NullMarked;
