/**
 * What Holdfast throws. One unchecked root with a category and typed fields; errors that belong to
 * one idea live beside that idea, those shared by all live here.
 */
@NullMarked
package io.holdfast.error;

import org.jspecify.annotations.NullMarked;
