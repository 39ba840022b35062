/**
 * Counts what a backend does and shows it to JDK Flight Recorder where that is there and listens.
 * Every other room reports here, in one line, and knows nothing of recordings.
 */
@NullMarked
package io.holdfast.internal.event;

import org.jspecify.annotations.NullMarked;
