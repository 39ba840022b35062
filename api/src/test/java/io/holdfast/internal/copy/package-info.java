/**
 * Tests of the copy engine over fakes whose streams move only when a test says so. Everything that
 * could race on a device is a choice of the test here.
 */
@NullMarked
package io.holdfast.internal.copy;

import org.jspecify.annotations.NullMarked;
