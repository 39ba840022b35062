/**
 * Host memory on the right pages and the right node, or a refusal that names the shortfall. What is
 * asked for, what the kernel says was given, and what stands on it.
 */
@NullMarked
package io.holdfast.host;

import org.jspecify.annotations.NullMarked;
