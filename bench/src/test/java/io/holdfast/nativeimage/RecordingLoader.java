package io.holdfast.nativeimage;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeElement;
import java.lang.classfile.MethodModel;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Loads Holdfast's classes a second time, with every call that a native image must be told of in
 * advance led through {@link LinkRecorder}.
 */
final class RecordingLoader extends ClassLoader {
  private static final ClassDesc RECORDER = LinkRecorder.class.describeConstable().orElseThrow();

  /** Whose calls are led away, by class and name. */
  private static final Map<String, Set<String>> LED =
      Map.of(
          "java/lang/foreign/Linker",
          Set.of("downcallHandle", "upcallStub"),
          "java/lang/invoke/MethodHandles$Lookup",
          Set.of("findStatic", "findVirtual", "findVarHandle"));

  /** What else asks for code or data by name: none of it may be in a module unseen. */
  private static final Map<String, Set<String>> UNKNOWN =
      Map.of(
          "java/lang/invoke/MethodHandles$Lookup",
          Set.of(
              "findSpecial",
              "findConstructor",
              "findGetter",
              "findSetter",
              "findStaticVarHandle",
              "findStaticGetter",
              "findStaticSetter",
              "findClass"),
          "java/lang/Class",
          Set.of(
              "forName",
              "getDeclaredMethod",
              "getDeclaredField",
              "getDeclaredConstructor",
              "getMethod",
              "getField",
              "getConstructor"),
          "java/lang/reflect/Proxy",
          Set.of("newProxyInstance"));

  RecordingLoader(ClassLoader classes) {
    super("recording", classes);
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (!name.startsWith("io.holdfast.") || name.startsWith("io.holdfast.nativeimage.")) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> loaded = findLoadedClass(name);
      if (loaded != null) {
        return loaded;
      }
      try (InputStream file = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
        if (file == null) {
          throw new ClassNotFoundException(name);
        }
        byte[] code = led(file.readAllBytes());
        return defineClass(name, code, 0, code.length);
      } catch (IOException unreadable) {
        throw new UncheckedIOException(unreadable);
      }
    }
  }

  private static byte[] led(byte[] original) {
    ClassFile file = ClassFile.of();
    ClassModel model = file.parse(original);
    return file.transformClass(
        model,
        ClassTransform.transformingMethodBodies(
            (builder, element) -> {
              if (element instanceof InvokeInstruction call && isIn(LED, call)) {
                MethodTypeDesc type = call.typeSymbol();
                builder.invokestatic(
                    RECORDER,
                    call.name().stringValue(),
                    type.insertParameterTypes(0, call.owner().asSymbol()));
              } else {
                builder.with(element);
              }
            }));
  }

  /** The methods of a class file that ask for what is recorded. */
  static Set<String> asking(byte[] file) {
    return methods(file, LED);
  }

  /** The methods of a class file that ask in a way that is not recorded. */
  static Set<String> askingOtherwise(byte[] file) {
    return methods(file, UNKNOWN);
  }

  private static Set<String> methods(byte[] file, Map<String, Set<String>> calls) {
    ClassModel model = ClassFile.of().parse(file);
    Set<String> found = new TreeSet<>();
    for (MethodModel method : model.methods()) {
      method
          .code()
          .ifPresent(
              code -> {
                for (CodeElement element : code) {
                  if (element instanceof InvokeInstruction call && isIn(calls, call)) {
                    found.add(
                        model.thisClass().asInternalName().replace('/', '.')
                            + "."
                            + method.methodName().stringValue()
                            + method.methodType().stringValue());
                  }
                }
              });
    }
    return found;
  }

  private static boolean isIn(Map<String, Set<String>> calls, InvokeInstruction call) {
    return calls
        .getOrDefault(call.owner().asInternalName(), Set.of())
        .contains(call.name().stringValue());
  }
}
