package io.holdfast.conformance.run;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Why a file could not be read or written, for people. */
public final class FileTrouble {
  private FileTrouble() {}

  /**
   * The reason alone; the caller names the file.
   *
   * @param failure of reading or writing a file, or of the JSON in it
   * @return a clause on one line, without a full stop
   */
  public static String reason(IOException failure) {
    return switch (failure) {
      case NoSuchFileException _ -> "there is no such file or folder";
      case NotDirectoryException _ -> "it is not a folder";
      case FileAlreadyExistsException _ -> "it is a file and not a folder";
      case AccessDeniedException _ -> "permission is denied";
      case CharacterCodingException _ -> "it is no text in UTF-8";
      case JsonProcessingException wrong -> "it is no JSON" + at(wrong.getLocation());
      case FileSystemException other when other.getReason() != null -> ofSystem(other.getReason());
      default -> ofSystem(firstLine(String.valueOf(failure.getMessage())));
    };
  }

  private static String at(@Nullable JsonLocation where) {
    return where == null ? "" : " at line " + where.getLineNr() + ", column " + where.getColumnNr();
  }

  /** The operating system's words. */
  private static String ofSystem(String reason) {
    return switch (reason) {
      case "Is a directory" -> "it is a folder";
      case "Not a directory" -> "a part of its path is not a folder";
      case "" -> "no reason is known";
      default -> reason.substring(0, 1).toLowerCase(Locale.ROOT) + reason.substring(1);
    };
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }
}
