package io.pyqbeast.commit;

import io.pyqbeast.spark.Frames;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/**
 * Rows that are computed once and kept, because Delta reads them more than once. A source may give others each time.
 */
public final class KeptRows {
  private KeptRows() {}

  /**
   * The kept rows. The transaction is active while they are computed, so it learns which tables they were read from.
   */
  public static Dataset<Row> of(Transaction transaction, Dataset<Row> rows) {
    return transaction.active(
        () -> {
          transaction.comeFrom(Frames.plan(rows));
          // The plan is made anew: one that was made before says which files of the table it reads.
          return Frames.of(rows.sparkSession(), Frames.plan(rows)).localCheckpoint();
        });
  }
}
