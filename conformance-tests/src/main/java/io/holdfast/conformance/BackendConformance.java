package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** All profiles: what is not claimed must be refused. */
public abstract class BackendConformance extends CoreConformance {
  /** For subclasses. */
  protected BackendConformance() {}

  @Nested
  final class SteadyTests extends SteadyRules {
    SteadyTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class HugePageTests extends HugePageRules {
    HugePageTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class PlacementTests extends PlacementRules {
    PlacementTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class BatchTests extends BatchRules {
    BatchTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class KernelTests extends KernelRules {
    KernelTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class EngineTests extends EngineRules {
    EngineTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class ExtensibleTests extends ExtensibleRules {
    ExtensibleTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class SharingTests extends SharingRules {
    SharingTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class ProcessTests extends ProcessRules {
    ProcessTests() {
      super(BackendConformance.this);
    }
  }

  @Nested
  final class FailureTests extends FailureRules {
    FailureTests() {
      super(BackendConformance.this);
    }
  }
}
