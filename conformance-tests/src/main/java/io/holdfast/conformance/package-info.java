/**
 * Rules that a backend keeps, and the tests that judge it by them. Extend a class, say which
 * backend, and run it as a JUnit class.
 */
@NullMarked
package io.holdfast.conformance;

import org.jspecify.annotations.NullMarked;
