/**
 * Makes one page out of the folders that runs left: charts, tables, the machines' facts. It reads
 * files only, and nothing on the page comes from anywhere else.
 */
@NullMarked
package io.holdfast.bench.report;

import org.jspecify.annotations.NullMarked;
