package io.pyqbeast.conditions;

import io.pyqbeast.spark.ScalaInterop;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.KnownNullable;
import org.apache.spark.sql.catalyst.expressions.ScalarSubquery;

/**
 * Conditions with a value that comes from a subquery. The value is not known before the scan runs, and Spark then hands
 * it to Parquet. Spark asks Parquet only about columns and fields of columns.
 */
final class FetchedValues {
  private FetchedValues() {}

  static boolean isFetched(Expression expression) {
    return expression instanceof ScalarSubquery;
  }

  static boolean isStored(Expression value) {
    return value instanceof Attribute || value instanceof GetStructField field && isStored(field.child());
  }

  /** The same condition in a form that Spark does not hand to Parquet. */
  static Expression withheld(Expression condition) {
    List<Expression> parts =
        ScalaInterop.list(condition.children()).stream()
            .<Expression>map(each -> isFetched(each) ? new KnownNullable(each) : each)
            .toList();
    return condition.withNewChildren(ScalaInterop.seq(parts).toIndexedSeq());
  }
}
