package io.holdfast.bench.report;

import java.util.List;

/**
 * A table as text.
 *
 * @param title above it
 * @param note below the title, may be empty
 * @param columns headings; the first names the row
 * @param rows cells, as many as columns
 */
record Table(String title, String note, List<String> columns, List<List<String>> rows) {
  Table {
    columns = List.copyOf(columns);
    rows = rows.stream().map(List::copyOf).toList();
    for (List<String> row : rows) {
      if (row.size() != columns.size()) {
        throw new IllegalArgumentException(row + " does not fit " + columns);
      }
    }
  }

  boolean isEmpty() {
    return rows.isEmpty();
  }
}
