package io.pyqbeast.expressions;

import io.pyqbeast.spark.ScalaInterop;
import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;

/** Pieces of generated code, built without Scala's string interpolation. */
final class GeneratedCode {
  private GeneratedCode() {}

  static Block of(String code) {
    return new CodeBlock(ScalaInterop.seq(java.util.List.of(code)), ScalaInterop.seq(java.util.List.of()));
  }
}
