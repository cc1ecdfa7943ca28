package io.pyqbeast.layout;

import java.io.Serializable;
import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;

/** What {@link MapPartitionsWithExpressions} does with the rows of one partition. */
public interface RowFunction extends Serializable {
  /**
   * @param rows the rows, each valid until the next is asked for
   * @param values what the plan's expressions are for a row
   * @return rows that are valid until the next is asked for
   */
  Iterator<InternalRow> apply(Iterator<InternalRow> rows, Values values);

  /** Expressions of a row as a row. */
  interface Values {
    UnsafeRow of(InternalRow row);
  }
}
