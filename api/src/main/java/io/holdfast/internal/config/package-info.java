/**
 * Configuration: requests from keys that people know from elsewhere, and system properties, which
 * are understood or refused by name.
 */
@NullMarked
package io.holdfast.internal.config;

import org.jspecify.annotations.NullMarked;
