package io.pyqbeast.spark;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/** Shuffles that send rows to given partitions. Spark 4.0 has only shuffles that hash a value to a partition. */
public final class Shuffles {
  /** The seed with which Spark hashes values to partitions. */
  private static final int SEED = 42;

  private Shuffles() {}

  /** The rows in so many partitions, each row in the one whose number its column (int) holds. */
  public static Dataset<Row> byNumber(Dataset<Row> rows, int partitions, String column) {
    return rows.repartition(
        partitions, functions.get(functions.lit(valuesOf(partitions)), functions.col(column)));
  }

  /** For each partition a value that Spark hashes to it. */
  private static int[] valuesOf(int partitions) {
    int[] values = new int[partitions];
    boolean[] isFound = new boolean[partitions];
    int missing = partitions;
    for (int value = 0; missing > 0; value++) {
      int partition = Math.floorMod(Murmur3_x86_32.hashInt(value, SEED), partitions);
      if (!isFound[partition]) {
        isFound[partition] = true;
        values[partition] = value;
        missing--;
      }
    }
    return values;
  }
}
