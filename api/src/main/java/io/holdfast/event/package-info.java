/**
 * What a backend did, counted: one model of activities, which JDK Flight Recorder shows one by one
 * as events and {@link io.holdfast.event.Statistics} shows as sums.
 */
@NullMarked
package io.holdfast.event;

import org.jspecify.annotations.NullMarked;
