package io.pyqbeast.commit;

import io.pyqbeast.spark.Frames;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Rows that are worked out once, though Delta looks at them more than once. A source may give others each time. */
public final class KeptRows {
  private KeptRows() {}

  /** The rows, of which the transaction learns what they were worked out from, as it would without them being kept. */
  public static Dataset<Row> of(Transaction transaction, Dataset<Row> rows) {
    return transaction.active(
        () -> {
          // The plan is made anew: one that was made before says which files of the table it reads.
          return Frames.of(rows.sparkSession(), Frames.plan(rows)).localCheckpoint();
        });
  }
}
