package io.pyqbeast.spark;

import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;

/** Pieces of generated code, built without Scala's string interpolation. */
public final class GeneratedCode {
  private GeneratedCode() {}

  public static Block of(String code) {
    return new CodeBlock(ScalaInterop.seq(java.util.List.of(code)), ScalaInterop.seq(java.util.List.of()));
  }
}
