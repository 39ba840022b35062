package io.holdfast.bench;

import picocli.CommandLine.IVersionProvider;

/** The version as the jar's manifest has it. */
final class VersionText implements IVersionProvider {
  @Override
  public String[] getVersion() {
    String version = Holdfast.class.getPackage().getImplementationVersion();
    return new String[] {
      "holdfast " + (version == null ? "(development build)" : version), "Java " + Runtime.version()
    };
  }
}
