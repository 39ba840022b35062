package io.holdfast.conformance.run;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;

import io.holdfast.conformance.Rule;
import io.holdfast.conformance.Verdict;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.SchemaFactory;
import org.junit.jupiter.api.Test;

/** What CI servers read. */
final class XmlReportTest {
  /** The shape that CI servers take from Surefire and JUnit: what is here, and nothing else. */
  private static final String SCHEMA =
      """
      <xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
        <xs:element name="testsuite">
          <xs:complexType>
            <xs:sequence>
              <xs:element name="properties" minOccurs="0">
                <xs:complexType>
                  <xs:sequence>
                    <xs:element name="property" minOccurs="0" maxOccurs="unbounded">
                      <xs:complexType>
                        <xs:attribute name="name" type="xs:string" use="required"/>
                        <xs:attribute name="value" type="xs:string" use="required"/>
                      </xs:complexType>
                    </xs:element>
                  </xs:sequence>
                </xs:complexType>
              </xs:element>
              <xs:element name="testcase" minOccurs="0" maxOccurs="unbounded">
                <xs:complexType>
                  <xs:choice minOccurs="0">
                    <xs:element name="skipped">
                      <xs:complexType>
                        <xs:attribute name="message" type="xs:string"/>
                      </xs:complexType>
                    </xs:element>
                    <xs:element name="failure">
                      <xs:complexType mixed="true">
                        <xs:attribute name="message" type="xs:string"/>
                        <xs:attribute name="type" type="xs:string" use="required"/>
                      </xs:complexType>
                    </xs:element>
                  </xs:choice>
                  <xs:attribute name="name" type="xs:string" use="required"/>
                  <xs:attribute name="classname" type="xs:string" use="required"/>
                  <xs:attribute name="time" type="xs:decimal" use="required"/>
                </xs:complexType>
              </xs:element>
            </xs:sequence>
            <xs:attribute name="name" type="xs:string" use="required"/>
            <xs:attribute name="tests" type="xs:nonNegativeInteger" use="required"/>
            <xs:attribute name="failures" type="xs:nonNegativeInteger" use="required"/>
            <xs:attribute name="errors" type="xs:nonNegativeInteger" use="required"/>
            <xs:attribute name="skipped" type="xs:nonNegativeInteger" use="required"/>
            <xs:attribute name="time" type="xs:decimal" use="required"/>
          </xs:complexType>
        </xs:element>
      </xs:schema>
      """;

  @Test
  void every_verdict_and_every_character_makes_a_valid_document() throws Exception {
    String nasty =
        "a \u0000 null, \u001b[31m colour, ]]> <b>&amp;\"' \ud800 half \ufffe \ud83d\ude00\n";
    List<Result> results = new ArrayList<>();
    for (Verdict verdict : Verdict.values()) {
      results.add(
          new Result(
              "SomeRules.test_of_" + verdict,
              List.of(Rule.MAP_01),
              verdict,
              nasty,
              verdict == Verdict.FAILED ? nasty : "",
              List.of(),
              1_234));
    }
    results.add(new Result("without a group", List.of(), Verdict.FAILED, "", "", List.of(), 0));
    Host host = new Host(Map.of("backend", nasty, "-Dholdfast.x", nasty), List.of());

    String xml = XmlReport.of(new Report(host, "", false, results));

    var schema =
        SchemaFactory.newDefaultInstance().newSchema(new StreamSource(new StringReader(SCHEMA)));
    assertDoesNotThrow(
        () -> schema.newValidator().validate(new StreamSource(new StringReader(xml))), xml);
  }
}
