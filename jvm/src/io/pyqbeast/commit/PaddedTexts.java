package io.pyqbeast.commit;

import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * The texts of CHAR columns with the blanks that make them as long as their type. Spark adds them to what it reads, so an
 * UPDATE of Delta writes them into the rows that it copies. Texts that were stored without them would change their hash
 * then, and so the weight of the row, while their file is none of those that tell its weight any more.
 */
final class PaddedTexts {
  private PaddedTexts() {}

  /** Rows with padded texts; {@code schema} is that of the table, whose columns are their first ones. */
  static Dataset<Row> in(Dataset<Row> rows, StructType schema) {
    org.apache.spark.sql.classic.Dataset<Row> classic = (org.apache.spark.sql.classic.Dataset<Row>) rows;
    if (classic.sparkSession().sessionState().conf().charVarcharAsString()) {
      return rows;
    }
    LogicalPlan plan = classic.queryExecution().analyzed();
    List<Attribute> columns = ScalaInterop.list(plan.output());
    List<NamedExpression> padded = new ArrayList<>();
    boolean changes = false;
    for (int i = 0; i < columns.size(); i++) {
      Attribute column = columns.get(i);
      if (i >= schema.length()) {
        padded.add(column);
        continue;
      }
      Attribute typed = column.withMetadata(schema.fields()[i].metadata());
      Expression text = CharVarcharUtils$.MODULE$.addPaddingForScan(typed);
      changes |= text != typed;
      padded.add(text == typed ? column : named(text, column));
    }
    return changes
        ? Dataset$.MODULE$.ofRows(classic.sparkSession(), new Project(ScalaInterop.seq(padded), plan))
        : rows;
  }

  private static Alias named(Expression text, Attribute column) {
    return new Alias(
        text, column.name(), NamedExpression.newExprId(), ScalaInterop.seq(List.of()), Option.apply(column.metadata()),
        ScalaInterop.seq(List.of()));
  }
}
