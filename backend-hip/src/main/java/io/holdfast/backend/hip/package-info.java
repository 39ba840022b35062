/**
 * The HIP runtime behind the accelerator port. The provider says honestly why a machine cannot use
 * it; policy of any kind lives in the API module.
 */
@NullMarked
package io.holdfast.backend.hip;

import org.jspecify.annotations.NullMarked;
