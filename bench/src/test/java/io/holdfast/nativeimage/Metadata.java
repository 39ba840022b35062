package io.holdfast.nativeimage;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.ValueLayout;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** A reachability-metadata.json, in one order whatever the order of what it is made from. */
final class Metadata {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String SERVICES = "META-INF/services/";

  /** C's types as native-image names them. */
  private static final Map<MemoryLayout, String> TYPES =
      Map.of(
          ValueLayout.JAVA_BOOLEAN, "jboolean",
          ValueLayout.JAVA_BYTE, "jbyte",
          ValueLayout.JAVA_CHAR, "jchar",
          ValueLayout.JAVA_SHORT, "jshort",
          ValueLayout.JAVA_INT, "jint",
          ValueLayout.JAVA_LONG, "jlong",
          ValueLayout.JAVA_FLOAT, "jfloat",
          ValueLayout.JAVA_DOUBLE, "jdouble");

  /** More fixed arguments than any function has that is called. */
  private static final int MOST_ARGUMENTS = 16;

  private final SortedMap<String, ObjectNode> reflection = new TreeMap<>();
  private final SortedSet<String> resources = new TreeSet<>();
  private final SortedMap<String, ObjectNode> downcalls = new TreeMap<>();
  private final SortedMap<String, ObjectNode> upcalls = new TreeMap<>();

  void add(LinkRecorder.Use use) {
    switch (use) {
      case LinkRecorder.Use.Downcall call -> {
        ObjectNode entry = call(call.shape(), call.options());
        downcalls.put(entry.toString(), entry);
      }
      case LinkRecorder.Use.Upcall call -> {
        ObjectNode entry = call(call.shape(), call.options());
        upcalls.put(entry.toString(), entry);
      }
      case LinkRecorder.Use.NamedMethod method ->
          method(
              method.type(),
              method.name(),
              method.shape().parameterList().stream().map(Class::getName).toList());
      case LinkRecorder.Use.NamedField field -> {
        ObjectNode entry = JSON.createObjectNode().put("name", field.name());
        insert(type(field.type()).withArray("fields"), entry);
      }
    }
  }

  /** A file of the jar; of a service's, also the providers that it names. */
  void addResource(String name, byte[] content) {
    resources.add(name);
    if (name.startsWith(SERVICES)) {
      new String(content, UTF_8)
          .lines()
          .map(String::strip)
          .filter(line -> !line.isEmpty() && !line.startsWith("#"))
          .forEach(provider -> method(provider, "<init>", List.of()));
    }
  }

  String text() {
    ObjectNode root = JSON.createObjectNode();
    root.putArray("reflection").addAll(reflection.values());
    ArrayNode globs = root.putArray("resources");
    resources.forEach(name -> globs.addObject().put("glob", name));
    ObjectNode foreign = root.putObject("foreign");
    foreign.putArray("downcalls").addAll(downcalls.values());
    foreign.putArray("upcalls").addAll(upcalls.values());
    DefaultIndenter lines = new DefaultIndenter("  ", "\n");
    DefaultPrettyPrinter printer =
        new DefaultPrettyPrinter().withObjectIndenter(lines).withArrayIndenter(lines);
    try {
      return JSON.writer(printer).writeValueAsString(root) + "\n";
    } catch (JsonProcessingException impossible) {
      throw new AssertionError(impossible);
    }
  }

  private void method(String type, String name, List<String> parameters) {
    ObjectNode entry = JSON.createObjectNode().put("name", name);
    ArrayNode types = entry.putArray("parameterTypes");
    parameters.forEach(types::add);
    insert(type(type).withArray("methods"), entry);
  }

  private ObjectNode type(String name) {
    return reflection.computeIfAbsent(name, type -> JSON.createObjectNode().put("type", type));
  }

  /** Keeps the list in order and each entry once. */
  private static void insert(ArrayNode list, ObjectNode entry) {
    SortedMap<String, ObjectNode> all = new TreeMap<>();
    list.forEach(one -> all.put(one.toString(), (ObjectNode) one));
    all.put(entry.toString(), entry);
    list.removeAll();
    list.addAll(all.values());
  }

  private static ObjectNode call(FunctionDescriptor shape, Collection<Linker.Option> options) {
    ObjectNode entry = JSON.createObjectNode();
    entry.put("returnType", shape.returnLayout().map(Metadata::name).orElse("void"));
    ArrayNode types = entry.putArray("parameterTypes");
    shape.argumentLayouts().forEach(one -> types.add(name(one)));
    for (Linker.Option option : options) {
      ObjectNode named = entry.withObject("/options");
      if (option.equals(Linker.Option.captureCallState("errno"))) {
        named.put("captureCallState", true);
      } else {
        named.put("firstVariadicArg", firstVariadic(option));
      }
    }
    return entry;
  }

  private static int firstVariadic(Linker.Option option) {
    for (int first = 0; first < MOST_ARGUMENTS; first++) {
      if (option.equals(Linker.Option.firstVariadicArg(first))) {
        return first;
      }
    }
    throw new AssertionError("an option that this test has no name for: " + option);
  }

  private static String name(MemoryLayout layout) {
    if (layout instanceof AddressLayout) {
      return "void*";
    }
    String name = TYPES.get(layout.withoutName());
    if (name == null) {
      throw new AssertionError("a layout that this test has no name for: " + layout);
    }
    return name;
  }
}
