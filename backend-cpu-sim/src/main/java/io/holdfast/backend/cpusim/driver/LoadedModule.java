package io.holdfast.backend.cpusim.driver;

import java.util.Set;

/**
 * Code loaded into a context.
 *
 * @param handle its handle
 * @param context where it is loaded
 * @param kernels the names of its kernels
 */
record LoadedModule(long handle, Context context, Set<String> kernels) {
  /**
   * One kernel of it.
   *
   * @param module the module
   * @param name its name
   */
  record Kernel(LoadedModule module, String name) {}
}
