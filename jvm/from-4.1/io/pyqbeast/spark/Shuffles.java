package io.pyqbeast.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;

/** Shuffles that send rows to given partitions. */
public final class Shuffles {
  private Shuffles() {}

  /** The rows in so many partitions, each row in the one whose number its column (int) holds. */
  public static Dataset<Row> byNumber(Dataset<Row> rows, int partitions, String column) {
    return rows.repartitionById(partitions, functions.col(column));
  }
}
