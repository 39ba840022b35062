/** An engine knows the API alone. */
module consumer {
  requires io.holdfast.api;
}
