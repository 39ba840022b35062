/** Holdfast's interfaces for engines and vendors, and the logic they share. */
module io.holdfast.api {
  // Optional: without it nothing can be recorded, and everything is counted all the same.
  requires static jdk.jfr;
  requires static org.jspecify;
  // Optional, and only named by the package io.holdfast.micrometer.
  requires static micrometer.core;

  exports io.holdfast;
  exports io.holdfast.copy;
  exports io.holdfast.device;
  exports io.holdfast.error;
  exports io.holdfast.event;
  exports io.holdfast.host;
  exports io.holdfast.layout;
  exports io.holdfast.micrometer;
  exports io.holdfast.pin;
  exports io.holdfast.pool;
  exports io.holdfast.spi;

  uses io.holdfast.spi.BackendProvider;
}
