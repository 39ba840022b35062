package io.holdfast.pin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.layout.Plane;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PlanCasesTest {
  private static int ran;

  @BeforeAll
  static void countFromZero() {
    ran = 0;
  }

  @AfterAll
  static void allFiftyTwoCasesRan() {
    assertEquals(52, ran);
  }

  static Stream<JsonNode> cases() {
    try (InputStream file =
        Objects.requireNonNull(
            PlanCasesTest.class.getResourceAsStream("registration-plans.json"))) {
      JsonNode cases = new ObjectMapper().readTree(file).get("cases");
      return StreamSupport.stream(cases.spliterator(), false).toList().stream();
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  @ParameterizedTest
  @MethodSource("cases")
  void theCaseHasItsKnownAnswer(JsonNode given) {
    ran++;
    List<Plane> planes = new ArrayList<>();
    for (JsonNode plane : given.get("planes")) {
      planes.add(
          Plane.packed(
              plane.get("offset").longValue(),
              plane.get("strideBytes").longValue(),
              plane.get("blocks").longValue()));
    }
    long cap = given.get("maxRegistrationBytes").longValue();
    PlanGeometry geometry =
        new PlanGeometry(
            given.get("mappedBytes").longValue(),
            given.get("backingPageBytes").longValue(),
            cap,
            cap,
            planes);

    PlanOutcome outcome = geometry.plan(CutPolicy.NEVER_INSIDE_BLOCK);
    if (given.has("infeasibleAt")) {
      PlanOutcome.Infeasible why = assertInstanceOf(PlanOutcome.Infeasible.class, outcome);
      assertEquals(given.get("infeasibleAt").longValue(), why.afterBytes());
      assertTrue(why.widestGapBytes() > cap);
      for (PlanOutcome.Alternative alternative : why.alternatives()) {
        assertInstanceOf(
            RegistrationPlan.class,
            alternative.geometry().plan(CutPolicy.NEVER_INSIDE_BLOCK),
            alternative::describe);
      }
    } else {
      RegistrationPlan plan = assertInstanceOf(RegistrationPlan.class, outcome);
      assertEquals(given.get("registrations").longValue(), plan.registrations());
      long[] cuts = plan.cuts().toArray();
      assertEquals(plan.registrations() - 1, cuts.length);
      JsonNode expected = given.get("cuts");
      if (expected.isArray()) {
        assertEquals(
            StreamSupport.stream(expected.spliterator(), false).map(JsonNode::longValue).toList(),
            plan.cuts().boxed().toList());
      } else {
        assertEquals(expected.get("first").longValue(), cuts[0]);
        assertEquals(expected.get("last").longValue(), cuts[cuts.length - 1]);
      }
      assertEquals(0, plan.straddlingBlocks());
      assertFalse(plan.straddling().iterator().hasNext());
      // With slice and cap equal both policies ask the same question.
      RegistrationPlan byDefault = geometry.plan(CutPolicy.INSIDE_BLOCK_IF_NEEDED).orThrow();
      assertEquals(plan.cuts().boxed().toList(), byDefault.cuts().boxed().toList());
    }
    JsonNode pageCuts = given.get("pageCutsOnly");
    assertEquals(
        new PageCuts(
            cap / geometry.backingPageBytes() * geometry.backingPageBytes(),
            pageCuts.get("registrations").longValue(),
            pageCuts.get("straddlingBlocks").longValue()),
        geometry.pageCutsOnly());
  }
}
