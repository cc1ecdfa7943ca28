package io.pyqbeast.statistics;

import io.pyqbeast.spark.ScalaInterop;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.StructsToJson;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;

/**
 * The statistics of a file, whose moments are told exactly whatever the session's zone and settings are. Offsets from UTC are
 * told in whole minutes, and some zones once had one with seconds. Under {@code spark.sql.legacy.timeParserPolicy=LEGACY}
 * moments before 1900 are told by an offset of later years. Readers leave files out because of such bounds. The rows may be
 * computed by that zone and that policy, so the session keeps them.
 */
final class ExactTimes extends Expression implements CodegenFallback, Serializable {
  private static final long serialVersionUID = 1L;

  private static final SQLConf SETTINGS = new SQLConf();

  static {
    SETTINGS.setConfString(SQLConf.LEGACY_TIME_PARSER_POLICY().key(), "CORRECTED");
  }

  private final Expression statistics;

  private ExactTimes(Expression statistics) {
    this.statistics = statistics;
  }

  /** What Delta stores of a file, as a text of JSON, with exact moments. */
  static Expression in(Expression statistics) {
    return new ExactTimes(
        statistics.transformUp(
            ScalaInterop.partial(StructsToJson.class, json -> (Expression) json.withTimeZone("UTC"))));
  }

  @Override
  public Object eval(InternalRow row) {
    return SQLConf.withExistingConf(SETTINGS, ScalaInterop.supplier(() -> statistics.eval(row)));
  }

  @Override
  public ExprCode doGenCode(CodegenContext context, ExprCode result) {
    return CodegenFallback.super.doGenCode(context, result);
  }

  @Override
  public Seq<Expression> children() {
    return ScalaInterop.seq(List.of(statistics));
  }

  @Override
  public DataType dataType() {
    return statistics.dataType();
  }

  @Override
  public boolean nullable() {
    return statistics.nullable();
  }

  @Override
  public Expression withNewChildrenInternal(IndexedSeq<Expression> newChildren) {
    return new ExactTimes(newChildren.head());
  }

  @Override
  public int productArity() {
    return 1;
  }

  @Override
  public Object productElement(int n) {
    return statistics;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof ExactTimes;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ExactTimes that && statistics.equals(that.statistics);
  }

  @Override
  public int hashCode() {
    return statistics.hashCode();
  }
}
