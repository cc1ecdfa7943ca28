package io.pyqbeast.commit;

import io.pyqbeast.format.ColumnNames;
import io.pyqbeast.spark.Frames;
import io.pyqbeast.spark.ScalaInterop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Adds blanks to the texts of CHAR columns until they are as long as their type says. Spark does so with what it
 * reads, so an UPDATE of Delta writes the blanks into all rows that it copies. If texts were stored without them, the
 * copies would have another hash, and so another weight.
 */
final class PaddedTexts {
  private static final String TYPE = CharVarcharUtils$.MODULE$.CHAR_VARCHAR_TYPE_STRING_METADATA_KEY();

  private PaddedTexts() {}

  /** Rows with padded texts, wherever a column has the name and the type of one of the table's. */
  static Dataset<Row> in(Dataset<Row> rows, StructType table) {
    org.apache.spark.sql.classic.Dataset<Row> classic = (org.apache.spark.sql.classic.Dataset<Row>) rows;
    if (classic.sparkSession().sessionState().conf().charVarcharAsString()) {
      return rows;
    }
    // A column is found by its name, as Delta may leave some of the table's columns out of its rows.
    Map<String, StructField> fields = new HashMap<>();
    List.of(table.fields()).forEach(field -> fields.put(ColumnNames.key(field.name()), field));
    LogicalPlan plan = Frames.plan(rows);
    List<NamedExpression> padded = new ArrayList<>();
    boolean changes = false;
    for (Attribute column : ScalaInterop.list(plan.output())) {
      StructField field = fields.get(ColumnNames.key(column.name()));
      if (field == null || !DataType.equalsIgnoreNullability(field.dataType(), column.dataType())) {
        padded.add(column);
        continue;
      }
      Attribute typed = column.withMetadata(field.metadata());
      Expression text = CharVarcharUtils$.MODULE$.addPaddingForScan(typed);
      changes |= text != typed;
      padded.add(text == typed ? column : named(text, column, field.metadata().getString(TYPE)));
    }
    return changes
        ? Frames.of(rows.sparkSession(), new Project(ScalaInterop.seq(padded), plan))
        : rows;
  }

  /**
   * Padded texts under the name of their column. Generated columns and conditions of the table compare them with shorter
   * ones, to which Spark adds blanks as well if the column says which type it has.
   */
  private static Alias named(Expression text, Attribute column, String type) {
    Metadata said = new MetadataBuilder().withMetadata(column.metadata()).putString(TYPE, type).build();
    return new Alias(
        text, column.name(), NamedExpression.newExprId(), ScalaInterop.seq(List.of()), Option.apply(said),
        ScalaInterop.seq(List.of()));
  }
}
