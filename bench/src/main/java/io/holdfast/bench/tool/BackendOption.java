package io.holdfast.bench.tool;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A backend's id on the command line; whether there is such a one is for discovery to say. */
public final class BackendOption implements ITypeConverter<String> {
  /** For picocli. */
  public BackendOption() {}

  @Override
  public String convert(String value) {
    if (value.isBlank()) {
      throw new TypeConversionException("an id must not be blank; 'holdfast backends' shows them");
    }
    return value;
  }
}
