package io.holdfast.bench.report;

/**
 * A sentence that a reader takes along.
 *
 * @param figure in large letters
 * @param what it is
 */
record Headline(String figure, String what) {}
