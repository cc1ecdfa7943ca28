package io.pyqbeast.parquet;

import io.pyqbeast.layout.RowTargets;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport;

/**
 * Writes the rows of one file as Spark does, and begins a row group wherever a part of the file begins: {@link RowTargets}
 * knows the weights of the rows and those that end a part.
 */
public final class PartWriter extends ParquetWriteSupport {
  private final RowTargets targets = RowTargets.ofTask();
  private boolean isEmpty = true;
  private int end = Integer.MAX_VALUE;

  @Override
  public void write(InternalRow row) {
    if (targets.hasNext() && (isEmpty || targets.nextWeight() > end)) {
      if (!isEmpty) {
        targets.notePart(RowGroupCut.before(this));
      }
      end = targets.endOfPart(targets.nextWeight());
    }
    isEmpty = false;
    super.write(row);
  }
}
