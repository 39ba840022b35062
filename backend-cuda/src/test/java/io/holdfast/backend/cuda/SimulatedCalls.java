package io.holdfast.backend.cuda;

import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.holdfast.backend.cpusim.driver.SimDriver;
import io.holdfast.backend.cpusim.shim.ExportTable;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;

/** The exports of a simulated driver by their names, with no library and no C between. */
final class SimulatedCalls extends RawCalls {
  private final SimDriver driver;
  private final ExportTable table;

  SimulatedCalls(SimDriver driver) {
    super(nowhere());
    this.driver = driver;
    this.table = new CudaExports(driver, new CudaKernelLaunches(), name -> 0).table();
  }

  private static SymbolLookup nowhere() {
    return name -> Optional.empty();
  }

  @Override
  boolean has(String name) {
    return table.has(name) && driver.personality().exports(name);
  }

  @Override
  Object invoke(String name, MemoryLayout result, Object... arguments) {
    long answer = table.call(name, arguments);
    if (!table.problems().isEmpty()) {
      throw new AssertionError(table.problems());
    }
    return result.equals(JAVA_INT) ? (Object) (int) answer : (Object) answer;
  }
}
