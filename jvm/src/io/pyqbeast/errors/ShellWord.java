package io.pyqbeast.errors;

import java.util.regex.Pattern;

/** A text as a shell takes it for one word, in commands that a message tells to run: Python's {@code shlex.quote}. */
public final class ShellWord {
  private static final Pattern SAFE = Pattern.compile("[\\w@%+=:,./-]+");

  private ShellWord() {}

  public static String of(String text) {
    return SAFE.matcher(text).matches() ? text : "'" + text.replace("'", "'\"'\"'") + "'";
  }
}
