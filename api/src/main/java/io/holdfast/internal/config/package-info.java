/**
 * Requests from configuration keys that people know from elsewhere. Nothing else reads
 * configuration.
 */
@NullMarked
package io.holdfast.internal.config;

import org.jspecify.annotations.NullMarked;
