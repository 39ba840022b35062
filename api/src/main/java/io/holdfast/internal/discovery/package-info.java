/**
 * Finds providers whatever state their registrations are in, asks them, and chooses by rule.
 * Nothing here throws while looking.
 */
@NullMarked
package io.holdfast.internal.discovery;

import org.jspecify.annotations.NullMarked;
