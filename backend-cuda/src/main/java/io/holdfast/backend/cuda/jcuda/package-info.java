/**
 * For engines that hold JCuda objects: handles and addresses pass both ways, and nothing is copied
 * or closed. Whoever has no JCuda never touches this package.
 */
@NullMarked
package io.holdfast.backend.cuda.jcuda;

import org.jspecify.annotations.NullMarked;
