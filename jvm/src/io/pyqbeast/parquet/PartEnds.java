package io.pyqbeast.parquet;

import io.pyqbeast.layout.RowTargets;
import org.apache.parquet.hadoop.api.WriteSupport;

/**
 * Begins a row group wherever a part of a file begins: {@link RowTargets} knows the weights of the rows and those that end
 * a part.
 */
final class PartEnds {
  private final WriteSupport<?> rows;
  private final RowTargets targets = RowTargets.ofTask();
  private boolean isEmpty = true;
  private int end = Integer.MAX_VALUE;

  /** @param rows what writes the rows of the file */
  PartEnds(WriteSupport<?> rows) {
    this.rows = rows;
  }

  /** Ends the row group if the next row is the first of another part. */
  void beforeRow() {
    if (targets.hasNext() && (isEmpty || targets.nextWeight() > end)) {
      if (!isEmpty) {
        targets.notePart(RowGroupCut.before(rows));
      }
      end = targets.endOfPart(targets.nextWeight());
    }
    isEmpty = false;
  }
}
