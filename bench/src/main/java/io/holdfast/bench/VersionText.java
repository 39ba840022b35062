package io.holdfast.bench;

import picocli.CommandLine.IVersionProvider;

/** The version as the jar's manifest has it. */
final class VersionText implements IVersionProvider {
  @Override
  public String[] getVersion() {
    return new String[] {"holdfast " + version(), "Java " + Runtime.version()};
  }

  static String version() {
    String version = Holdfast.class.getPackage().getImplementationVersion();
    return version == null ? "(development build)" : version;
  }
}
