/**
 * A whole backend for an accelerator that is one file of C: what the vendor guide builds. The
 * guide's code is taken from here, and CORE judges it in the build.
 */
package io.holdfast.example.tiny;
