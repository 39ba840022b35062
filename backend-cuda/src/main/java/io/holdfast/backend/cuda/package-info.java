/**
 * The CUDA driver behind the accelerator port: bindings below, one driver class above them. The
 * provider says honestly why a machine cannot use it; policy of any kind lives in the API module.
 */
@NullMarked
package io.holdfast.backend.cuda;

import org.jspecify.annotations.NullMarked;
