/**
 * What a host can give and what to change: gathers facts, judges a need against them, writes them
 * down. Everything is read through the API, so that a simulated or copied host is judged as a real
 * one.
 */
@NullMarked
package io.holdfast.bench.doctor;

import org.jspecify.annotations.NullMarked;
