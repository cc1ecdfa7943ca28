package io.pyqbeast;

import org.apache.spark.sql.catalyst.expressions.codegen.Block;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprValue;

/** Pieces of generated code, built without Scala's string interpolation. */
final class Blocks {
  private Blocks() {}

  static Block of(String code) {
    return new CodeBlock(Scala.seq(java.util.List.of(code)), Scala.seq(java.util.List.of()));
  }

  static ExprValue never() {
    return FalseLiteral$.MODULE$;
  }
}
