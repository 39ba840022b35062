package io.holdfast.conformance.run;

import io.holdfast.conformance.Verdict;
import java.io.StringWriter;
import java.util.Locale;
import javax.xml.stream.XMLOutputFactory;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamWriter;

/**
 * A report as JUnit's XML, in the shape that Surefire writes and CI servers read. All of the
 * report, whatever parts it was run in.
 */
final class XmlReport {
  private XmlReport() {}

  static String of(Report report) {
    StringWriter text = new StringWriter();
    try {
      XMLStreamWriter out = XMLOutputFactory.newDefaultFactory().createXMLStreamWriter(text);
      out.writeStartDocument("UTF-8", "1.0");
      suite(out, report);
      out.writeEndDocument();
      out.close();
    } catch (XMLStreamException impossible) {
      throw new AssertionError("a text can always be written", impossible);
    }
    return text.append('\n').toString();
  }

  private static void suite(XMLStreamWriter out, Report report) throws XMLStreamException {
    long millis = report.results().stream().mapToLong(Result::millis).sum();
    out.writeStartElement("testsuite");
    String backend = report.host().facts().getOrDefault("backend", "?");
    out.writeAttribute("name", plain("Conformance of " + backend));
    out.writeAttribute("tests", Integer.toString(report.results().size()));
    out.writeAttribute("failures", Long.toString(count(report, Verdict.FAILED)));
    out.writeAttribute("errors", "0");
    out.writeAttribute(
        "skipped", Long.toString(report.results().stream().filter(XmlReport::isSkipped).count()));
    out.writeAttribute("time", seconds(millis));
    out.writeStartElement("properties");
    for (var fact : report.host().facts().entrySet()) {
      out.writeEmptyElement("property");
      out.writeAttribute("name", plain(fact.getKey()));
      out.writeAttribute("value", plain(fact.getValue()));
    }
    out.writeEndElement();
    for (Result one : report.results()) {
      test(out, one);
    }
    out.writeEndElement();
  }

  private static long count(Report report, Verdict verdict) {
    return report.results().stream().filter(one -> one.verdict() == verdict).count();
  }

  /** What came to no judgement of the backend; a CI server knows no third thing beside failed. */
  private static boolean isSkipped(Result one) {
    return switch (one.verdict()) {
      case SKIPPED, QUARANTINED, FINDING -> true;
      case PASSED, INVERTED, FAILED -> false;
    };
  }

  private static void test(XMLStreamWriter out, Result one) throws XMLStreamException {
    int dot = one.test().lastIndexOf('.');
    out.writeStartElement("testcase");
    out.writeAttribute("name", plain(one.test().substring(dot + 1)));
    out.writeAttribute(
        "classname", "io.holdfast.conformance." + plain(one.test().substring(0, Math.max(0, dot))));
    out.writeAttribute("time", seconds(one.millis()));
    if (one.verdict() == Verdict.FAILED) {
      out.writeStartElement("failure");
      out.writeAttribute("message", plain(one.reason()));
      out.writeAttribute("type", plain(one.reason().replaceFirst("[:\\s](?s:.*)", "")));
      out.writeCharacters(plain(one.trace()));
      out.writeEndElement();
    } else if (isSkipped(one)) {
      out.writeEmptyElement("skipped");
      out.writeAttribute("message", plain(one.verdict() + ": " + one.reason()));
    }
    out.writeEndElement();
  }

  private static String seconds(long millis) {
    return String.format(Locale.ROOT, "%.3f", millis / 1000.0);
  }

  /** XML 1.0 has no place for most control characters, nor for halves of pairs. */
  private static String plain(String text) {
    return text.codePoints()
        .map(one -> isAllowed(one) ? one : '?')
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString();
  }

  private static boolean isAllowed(int one) {
    return one == '\t'
        || one == '\n'
        || one == '\r'
        || (one >= 0x20 && one <= 0xD7FF)
        || (one >= 0xE000 && one <= 0xFFFD)
        || one >= 0x10000;
  }
}
