/**
 * The JMH suites: start-up, copies, submission, extensible memory, planner and simulator. Whatever
 * moves bytes is checked after each trial.
 */
@NullMarked
package io.holdfast.bench.suite;

import org.jspecify.annotations.NullMarked;
