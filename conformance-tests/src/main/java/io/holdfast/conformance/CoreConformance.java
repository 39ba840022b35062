package io.holdfast.conformance;

import org.junit.jupiter.api.Nested;

/** {@link Profile#CORE}: what every backend keeps. No test of it is skipped. */
public abstract class CoreConformance extends Conformance {
  /** For subclasses. */
  protected CoreConformance() {}

  @Nested
  final class MappingTests extends MappingRules {
    MappingTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class PinningTests extends PinningRules {
    PinningTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class CopyTests extends CopyRules {
    CopyTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class OrderTests extends OrderRules {
    OrderTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class SlotTests extends SlotRules {
    SlotTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class LifetimeTests extends LifetimeRules {
    LifetimeTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class ThreadTests extends ThreadRules {
    ThreadTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class DeviceTests extends DeviceRules {
    DeviceTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class PortTests extends PortRules {
    PortTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class EventTests extends EventRules {
    EventTests() {
      super(CoreConformance.this);
    }
  }

  @Nested
  final class DiscoveryTests extends DiscoveryRules {
    DiscoveryTests() {
      super(CoreConformance.this);
    }
  }
}
